from tallymark.cli import main

main()
