// What every number on the screen means, and its unit: one sentence each, for whoever points at it.

/** @satisfies {Record<string, string>} */
export const METRICS = {
  probability: "Probability that this is the label, by the state's probe, in percent. All labels together make 100%.",
  rank: "Place of this label among all labels, the most probable first.",
  odds: "Odds: the probability of the first labels over that of the others. 3:1 is three times as probable, 1:3 a third.",
  entropy: "Entropy in bits: how undecided the state is. 0 bits: one label is certain; each bit more doubles the labels it wavers between.",
  "leading group": "The group with the largest share among the most probable tenth of the labels, and that share in percent.",
  "above base rate": "The group that is furthest above its base rate, and how far, in percent: 0% no more probable than by the labels' frequencies, 100% certain.",
  likeliest: "The label that is most likely to hold, and its probability in percent.",
  mean: "The mean of the distribution, in the unit of the series.",
  "80% between": "Between these two lie 80% of the right numbers: the middle 80% of the probability, widened by what held-out numbers needed at such a step.",
  "not calibrated": "The middle 80% of the probability lies between these two numbers. Whether 80% of the right numbers do was not measured: fit anew.",
  number: "The number that the network itself predicts, in the unit of what it reads.",
  median: "The part of the axis that holds the median, and how much the state tells, in percent: 0% no more than the frequencies, 100% everything.",
  surprisal: "Surprisal in bits: minus the base-2 logarithm of the probability that the model gave to what came. 0 bits: it was certain; each bit halves it.",
  divergence: "Jensen-Shannon divergence in bits: how far apart two distributions are. 0 bits: the same; 1 bit: they share no label.",
  turn: "Turn: the divergence between a state and one that feeds it, or the row above, in bits. 0: nothing changed; 1: everything did.",
  perplexity: "Perplexity on test sentences: the probe is as unsure as if it chose evenly among so many labels. Lower is better; 1 is perfect.",
  unigram: "Perplexity of guessing by frequency alone, without reading anything: as if choosing evenly among so many labels. A part that is no better tells nothing.",
  "× the model’s": "The part's perplexity over the model's own on the same words. 1 is as good as the model; below 1, the probe predicts better than the model.",
  accuracy: "How often the most probable label is the right one, in percent.",
  "from the model": "Kullback-Leibler divergence of the probe from the model's own prediction, in bits, on average over words. 0 is the same.",
  "calibration error": "Mean gap between how sure the probe is and how often it is right, in percent. 0% is best.",
  used: "How much of what can be read here the model uses: what its own log-probability of a label gains when the state is pushed so that its probe "
    + "reads more of that label, over a push of equal size along the gradient. Pushes are two deviations of the states\u2019 own covariance. 0: not used; "
    + "about 1: as much as along the gradient.",
  interchanged: "When another text\u2019s state is put in its place: the correlation, over labels, of the change in what the probe says with the change in "
    + "the model\u2019s prediction. In brackets with the change of another pair. 0: unrelated; 1: they change alike.",
  erased: "What each of the model\u2019s own predictions loses, in nats, when all that tells the label linearly is erased from the states of this part (LEACE) "
    + "and the texts are read anew. In brackets what erasing as many random directions costs.",
  later: "How far a push towards a label moves each of the next three predictions, in bits. In brackets a push in a random direction.",
  selectivity: "How much more often a probe in closed form is right about the true labels than about labels that every word was given at random: what it "
    + "does not merely memorise of words, in percent points.",
  "description, bits": "How many bits a label costs that is told with the help of these states, learnt on the way (online description length). Lower is better.",
  temperature: "What the probe\u2019s logits are best divided by, found on validation sentences; what is drawn is not divided by it. Above 1: it is too sure.",
  "95%": "In 95 percent of cases an interval made like this holds the number that all texts of this sort would give: sentences are drawn anew, with replacement.",
  "mean absolute error": "Mean distance of the predicted number from the right one, in the unit of the series. Lower is better.",
  "average precision": "Mean over labels of the area under the curve of precision over recall, from 0 to 1. Higher is better.",
  "macro F1": "Mean over labels of F1, the harmonic mean of precision and recall, in percent. Each label counts alike, however rare.",
  "learnt by": "The first of these epochs with nine tenths of all that the part gains, in the logarithm of its perplexity, from the first to its best.",
  logits: "Logits: natural logarithms of odds. +1 makes a label about 2.7 times as probable against the others, −1 as many times less.",
  cosine: "Cosine of two states, from −1 to 1. 1: they point the same way.",
};

/** @typedef {keyof typeof METRICS} Metric */

/** What a number means, as the title of whatever shows it. @param {Metric} name */
export function meaning(name) {
  return { title: METRICS[name] };
}
