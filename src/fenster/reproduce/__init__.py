"""Reproducing the paper's tables: which data, systems and measurements each needs, as commands of fenster."""
