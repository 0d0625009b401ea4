import type { ReactNode } from 'react';
import type { EraseReceipt } from '../../api/types.ts';
import { countWithNames } from '../../api/values.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { copied, Facts, Remains } from '../../ui/facts.tsx';
import { formatCount, formatExactBytes } from '../../ui/format.ts';
import { Instant } from '../../ui/marks.tsx';
import { moveHref } from './erase-request.ts';

/** What goes, or went, beside the records themselves. */
export function Effects({ receipt }: { receipt: EraseReceipt }): ReactNode {
  const { erased, hot_count: hot, cold_count: cold, segments_rewritten: segments } = receipt;
  const { not_found: missing, incidents } = receipt;
  return (
    <Facts
      facts={{
        records: formatCount(erased.count),
        bytes: formatExactBytes(erased.bytes),
        hot: formatCount(hot),
        cold: formatCount(cold),
        'objects written anew': formatCount(segments),
        'tags removed': formatCount(receipt.tags_removed),
        'versions concerned': countWithNames(receipt.versions_changed, receipt.versions),
        'export files removed': countWithNames(receipt.exports_removed, receipt.exports),
        'counts ended': countWithNames(receipt.counts_ended, receipt.counts),
        ...(incidents && {
          incidents: formatCount(incidents.count),
          'their answers': formatCount(incidents.answers),
          'their keys': formatCount(incidents.keys),
          'deliveries cancelled': formatCount(incidents.cancelled),
        }),
        digest: copied(erased.digest),
        'not found': missing.length > 0 ? missing.join(', ') : undefined,
      }}
    />
  );
}

/** When it was, under which id it is read again, and what of it remains for a while. */
export function Proof({ receipt }: { receipt: EraseReceipt }): ReactNode {
  const { id, state, remains } = receipt;
  return (
    <>
      <Facts
        facts={{
          reason: receipt.reason ?? undefined,
          requested: <Instant at={receipt.requested_at} />,
          'no read finds it since': <Instant at={receipt.erased_at} />,
          'old objects removed': <Instant at={receipt.objects_removed_after} />,
          receipt:
            id !== null ? (
              <>
                {state === null ? id : <a href={moveHref(id)}>{id}</a>}
                <CopyButton value={id} label="Copy the id of the receipt" />
              </>
            ) : undefined,
        }}
      />
      <Remains remains={remains} />
    </>
  );
}
