import type { Settings } from '../config/settings.ts';
import type { DryRunSummary, IngestAnswer } from '../contract.ts';
import { systemClock } from '../kernel/clock.ts';
import { createLint, type Finding, Findings, fileBody } from '../records/index.ts';

/** Nobody calls, so every tenant may be written. */
const anybody = { tokenId: '', name: '', scopes: [], tenants: null, expiresAt: null };

/** Checks a file's records as a service without any would. Throws what a body is refused for as a whole. */
export async function lintRecords(
  settings: Pick<Settings, 'ingestMaxRecords' | 'ingestMaxBytes' | 'enrichmentMaxBytes'>,
  file: { chunks: AsyncGenerator<Buffer>; isStream: boolean; isCoded: boolean },
  onFinding: (finding: Finding) => void,
): Promise<IngestAnswer & DryRunSummary> {
  const lint = createLint({
    maxRecords: settings.ingestMaxRecords,
    maxBatchBytes: settings.ingestMaxBytes,
    maxEnrichmentBytes: settings.enrichmentMaxBytes,
    // The parts that are held at once are few and small, and here nobody else wants memory.
    inFlightBytes: Number.MAX_SAFE_INTEGER,
    clock: systemClock,
  });
  const findings = new Findings(onFinding);
  const take = lint[file.isStream ? 'stream' : 'batch'];
  const answer = await take(fileBody(file.chunks, file), anybody, { findings });
  return { ...answer, ...findings.summary() };
}
