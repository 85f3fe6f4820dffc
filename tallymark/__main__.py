from tallymark.cli.main import main

main()
