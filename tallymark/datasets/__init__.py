"""The layouts of official data sets, read as catalogs."""
