/**
 * Divides an object's size among its days in proportion to their bytes: whole numbers that add up to
 * it exactly (largest remainder; among equal ones the earlier).
 */
export function shareStoredBytes(bytes: readonly number[], sizeBytes: number): number[] {
  const size = BigInt(sizeBytes);
  const total = bytes.reduce((sum, value) => sum + BigInt(value), 0n);
  if (total === 0n) return bytes.map((_, index) => (index === 0 ? sizeBytes : 0));
  const shares = bytes.map((value) => Number((BigInt(value) * size) / total));
  const rest = sizeBytes - shares.reduce((sum, share) => sum + share, 0);
  const byRemainder = bytes
    .map((value, index) => ({ index, remainder: (BigInt(value) * size) % total }))
    .sort((a, b) => compare(b.remainder, a.remainder) || a.index - b.index);
  for (const { index } of byRemainder.slice(0, rest)) shares[index] = (shares[index] ?? 0) + 1;
  return shares;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
