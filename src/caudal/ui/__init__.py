"""The control center: a web page per part of the platform, served by NiceGUI from one small process."""
