"""What holds figures, or stands for a number: dates, money, units, Roman numerals."""
