"""The commands: one small function per verb. Heavy imports happen inside, so that --help is quick."""
