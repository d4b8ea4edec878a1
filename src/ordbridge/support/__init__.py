"""What every room uses: checks of arguments, files and folders, processes, text."""
