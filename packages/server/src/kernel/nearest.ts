/** The one of some words that somebody may have meant who typed another: at most two letters, or a third, are amiss. */
export function nearestOf(word: string, words: Iterable<string>): string | undefined {
  const most = Math.max(1, Math.min(2, Math.floor(word.length / 3)));
  let nearest: { word: string; distance: number } | undefined;
  for (const other of words) {
    if (Math.abs(other.length - word.length) > most) continue;
    const distance = distanceBetween(word, other);
    if (distance <= most && distance < (nearest?.distance ?? Infinity))
      nearest = { word: other, distance };
  }
  return nearest?.word;
}

/** How many letters are to be added, taken away, changed or swapped with the next to make one word of the other. */
function distanceBetween(a: string, b: string): number {
  let [beforeLast, last]: [number[], number[]] = [
    [],
    Array.from({ length: b.length + 1 }, (_, n) => n),
  ];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (beforeLast[j - 2] ?? 0) + 1 : Infinity,
      );
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
