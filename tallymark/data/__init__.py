"""Items, annotations, catalogs, folds, exclusions and checks."""
