"""Suffixes of the media files that are read, in lower case."""

from importlib.util import find_spec

HEIC_SUFFIXES = {".heic", ".heif"}
"""Photographs of phones; the extra `heic` reads them."""
IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".tif", ".tiff", ".bmp"}
if find_spec("pillow_heif") is not None:
    IMAGE_SUFFIXES |= HEIC_SUFFIXES
AUDIO_SUFFIXES = {".wav", ".flac", ".aif", ".aiff", ".ogg", ".mp3", ".opus"}
LIDAR_SUFFIXES = {".bin"}
MEDIA_SUFFIXES = IMAGE_SUFFIXES | HEIC_SUFFIXES | AUDIO_SUFFIXES | LIDAR_SUFFIXES
