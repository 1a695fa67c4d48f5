"""The settings of params.yaml as frozen, checked models: one file a group. Configuration enters Nightjar here."""
