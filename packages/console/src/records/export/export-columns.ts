/** The columns of an export, in their order: SPEC §3. The service refuses any other. */
export const exportColumns = [
  'tenant',
  'store',
  'month',
  'event_id',
  'occurred_at',
  'recorded_at',
  'kind',
  'source',
  'model',
  'confidence',
  'bytes',
  'datasets',
  'enrichment',
] as const;

/** Field paths as people type them: `origin.iata, enrichment.score`, by comma or line. */
export function parsePaths(text: string): { paths: string[]; fault: string | null } {
  const paths: string[] = [];
  for (const part of text.split(/[,\n]/)) {
    const typed = part.trim();
    if (typed === '') continue;
    const path = typed.startsWith('enrichment.') ? typed : `enrichment.${typed}`;
    if (!/^enrichment(\.[^.]+)+$/.test(path) || path.length > 500) {
      return { paths: [], fault: `“${typed}” is no path: names joined by dots, as origin.iata` };
    }
    if (!paths.includes(path)) paths.push(path);
  }
  return { paths, fault: null };
}
