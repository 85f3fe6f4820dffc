"""Plain files: tables, folders, images, audio, lidar."""
