"""Pages and tables about data sets and predictions."""
