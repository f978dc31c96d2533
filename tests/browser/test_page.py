"""The page, used as people use it. `make test-browser` installs what it needs."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="make test-browser installs it")

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.ui import Select, WebDriverWait

from tests.browser.conftest import Server

FILES = Path(__file__).parents[1] / "files" / "good"
PICTURES = Path(os.environ["FENSTER_PICTURES"]) if "FENSTER_PICTURES" in os.environ else None
TEXT = "Anna bought a lamp. It is very old. Can you help me? Write to anna@example.com about it."

pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture
def page(server: Server, browser_path: str, tmp_path: Path) -> Iterator[WebDriver]:
    options = webdriver.ChromeOptions()
    options.binary_location = browser_path
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,1000"):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {"download.default_directory": str(tmp_path)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.get(server.url)
    yield driver
    errors = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    driver.quit()
    assert not [entry for entry in errors if "ERR_CONNECTION_REFUSED" not in entry["message"]], errors


def until(driver: WebDriver, condition: Callable[[], Any], seconds: float = 60) -> Any:
    """The page may be written anew while it is read: then it is read again."""
    waiting = WebDriverWait(driver, seconds, 0.1, ignored_exceptions=[StaleElementReferenceException])
    return waiting.until(lambda _: condition())


def status(driver: WebDriver) -> str:
    return driver.find_element(By.ID, "status").text


def targets(driver: WebDriver) -> list[str]:
    read = "return [...document.querySelectorAll('#rows .target')].map(one => one.innerText.trim())"
    texts: list[str] = driver.execute_script(read)  # all at once
    return texts


def translate(driver: WebDriver, text: str) -> list[str]:
    box = driver.find_element(By.ID, "text")
    box.clear()
    box.send_keys(text)
    box.send_keys(Keys.CONTROL, Keys.ENTER)
    until(driver, lambda: status(driver).startswith("Done"))
    return targets(driver)


def picture(driver: WebDriver, name: str) -> None:
    if PICTURES is not None:
        driver.save_screenshot(str(PICTURES / f"{name}.png"))


def test_paste_and_read(page: WebDriver) -> None:
    made = translate(page, TEXT)
    assert len(made) == 4 and "anna@example.com" in made[3]
    assert "4 sentences" in page.find_element(By.ID, "summary").text
    assert page.find_elements(By.CSS_SELECTOR, ".formal, .informal"), "the form of address is marked"
    picture(page, "serve-desktop")
    assert page.execute_script("return JSON.parse(localStorage.getItem('fenster.earlier')).length") == 1
    page.refresh()
    until(page, lambda: page.find_elements(By.CSS_SELECTOR, "#past button"))


def test_switch_the_register(page: WebDriver) -> None:
    translate(page, "Can you help me? You have my book.")
    for register, right, wrong in (("formal", ".formal", ".informal"), ("informal", ".informal", ".formal")):
        Select(page.find_element(By.ID, "register")).select_by_value(register)
        until(page, partial(page.find_elements, By.CSS_SELECTOR, f"#rows {right}"))
        until(page, lambda: status(page).startswith("Done"))
        assert not page.find_elements(By.CSS_SELECTOR, f"#rows {wrong}")


def test_a_correction_changes_what_follows(page: WebDriver) -> None:
    before = translate(page, "Please sit down. Do you want to drink something?")
    formal = not before[0].startswith("Setzen Sie")
    page.find_elements(By.CSS_SELECTOR, "#rows .edit")[0].click()
    box = page.find_element(By.CSS_SELECTOR, "#rows textarea")
    box.clear()
    box.send_keys("Setzen Sie sich bitte." if formal else "Setz dich bitte.", Keys.ENTER)
    until(page, lambda: len(targets(page)) == 2 and targets(page)[1] != before[1] and status(page).startswith("Done"))
    after = targets(page)
    assert after[0].startswith("Setz")
    assert ("Sie " in after[1]) == formal and ("Sie " in before[1]) != formal, (before, after)


def test_other_ways_and_attention(page: WebDriver) -> None:
    made = translate(page, "Here is the lamp. It is very old.")
    page.find_elements(By.CSS_SELECTOR, "#rows .other")[0].click()
    choice = page.find_elements(By.CSS_SELECTOR, "#rows .others button")[0]
    text = choice.text
    assert text and text != made[0]
    choice.click()
    until(page, lambda: targets(page)[0].startswith(text) and status(page).startswith("Done"))
    page.find_elements(By.CSS_SELECTOR, "#rows li:nth-child(2) .word")[0].click()
    until(page, lambda: page.find_elements(By.CSS_SELECTOR, "#heat span"))
    heat = page.find_elements(By.CSS_SELECTOR, "#heat span")
    assert any("lamp" in one.text for one in heat), "the sentence before is within the window"
    assert page.find_elements(By.CSS_SELECTOR, "#heat .w4")
    picture(page, "serve-attention")


def test_a_file_comes_back(page: WebDriver, tmp_path: Path) -> None:
    page.find_element(By.ID, "file").send_keys(str(FILES / "lo_report.docx"))
    links = until(page, lambda: page.find_elements(By.CSS_SELECTOR, "#status a"), 120)
    links[0].click()
    until(page, lambda: list(tmp_path.glob("*.docx")))
    (fetched,) = tmp_path.glob("*.docx")
    assert fetched.name == "lo_report_de.docx" and fetched.read_bytes()[:2] == b"PK"
    next(one for one in links if one.text == ".tmx").click()
    until(page, lambda: list(tmp_path.glob("*.tmx")))
    (fetched,) = tmp_path.glob("*.tmx")
    assert fetched.name == "lo_report_bilingual.tmx" and b"<tuv" in fetched.read_bytes()


def test_cancel(page: WebDriver) -> None:
    box = page.find_element(By.ID, "text")
    page.execute_script("arguments[0].value = arguments[1]", box, "The old man sat in the garden. " * 300)
    page.find_element(By.ID, "translate").click()
    until(page, lambda: len(targets(page)) >= 2)
    page.find_element(By.ID, "cancel").click()
    until(page, lambda: status(page).startswith("Cancelled"))
    count = len(targets(page))
    time.sleep(1)
    assert len(targets(page)) == count < 300
    assert len(translate(page, "Here is the lamp.")) == 1, "and the server is free again"


def test_on_a_phone_and_in_the_dark(page: WebDriver) -> None:
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True},
    )
    page.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    translate(page, TEXT)
    width = page.execute_script("return document.documentElement.scrollWidth")
    assert width <= 390, "nothing sticks out"
    picture(page, "serve-phone")


def test_a_server_that_restarts(page: WebDriver, server: Server) -> None:
    translate(page, "Here is the lamp.")
    assert server.stop() == 0
    page.find_element(By.ID, "text").send_keys(" It is old.")
    page.find_element(By.ID, "translate").click()
    until(page, lambda: status(page).startswith("Failed: "))
    server.start()
    assert len(translate(page, "Here is the lamp. It is very old.")) == 2


def test_a_glossary(page: WebDriver) -> None:
    page.find_element(By.CSS_SELECTOR, "details summary").click()
    box = page.find_element(By.ID, "glossary")
    box.send_keys("lamp = Leuchte")
    assert "Leuchte" in translate(page, TEXT)[0]
    box.send_keys("\nnonsense")
    page.find_element(By.ID, "translate").click()
    until(page, lambda: "“nonsense” must have the form: term = translation" in status(page))


def test_the_description_of_the_interface(page: WebDriver, server: Server) -> None:
    page.get(f"{server.url}docs")
    until(page, lambda: "/v1/documents" in page.find_element(By.TAG_NAME, "body").text)
