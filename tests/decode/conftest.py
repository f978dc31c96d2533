import pytest

from fenster.data.dataset import PreparedData
from fenster.model.model_folder import LoadedModel
from tests.helpers.models import KINDS, make_loaded


@pytest.fixture(params=list(KINDS))
def loaded(request: pytest.FixtureRequest, toy: PreparedData) -> LoadedModel:
    return make_loaded(toy, request.param)
