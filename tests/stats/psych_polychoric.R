# Writes psych_polychoric.csv: polychoric correlations of R's psych for the answers in
# psych_answers.csv, which test_polychoric.py explains. Run in this folder.
suppressMessages(library(psych))
answers <- read.csv("psych_answers.csv")
found <- suppressWarnings(polychoric(answers, correct = 0, smooth = FALSE))
write.table(format(found$rho, digits = 10), "psych_polychoric.csv", sep = ",", quote = FALSE,
            row.names = FALSE, col.names = FALSE)
