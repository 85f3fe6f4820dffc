"""What everything builds on: problems, options, recipes, the registry of challenges, console and threads."""
