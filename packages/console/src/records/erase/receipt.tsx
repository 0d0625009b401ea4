import type { ReactNode } from 'react';
import type { EraseReceipt } from '../../api/types.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import contentClasses from '../../ui/drawer.module.css';
import { formatCount, formatExactBytes, formatInstant } from '../../ui/format.ts';
import { Remains } from '../../ui/remains.tsx';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { moveHref } from './use-erase.ts';

/** What goes, or went, beside the records themselves. */
export function Effects({ receipt }: { receipt: EraseReceipt }): ReactNode {
  const { erased, hot_count: hot, cold_count: cold, segments_rewritten: segments } = receipt;
  const { not_found: missing, incidents } = receipt;
  return (
    <dl className={`below-16 ${contentClasses.fields}`}>
      <Line name="records" value={formatCount(erased.count)} />
      <Line name="bytes" value={formatExactBytes(erased.bytes)} />
      <Line name="hot" value={formatCount(hot)} />
      <Line name="cold" value={formatCount(cold)} />
      <Line name="objects written anew" value={formatCount(segments)} />
      <Line name="tags removed" value={formatCount(receipt.tags_removed)} />
      <Line name="versions changed" value={formatCount(receipt.versions_changed)} />
      <Line name="export files removed" value={formatCount(receipt.exports_removed)} />
      {incidents !== null && (
        <>
          <Line name="incidents" value={formatCount(incidents.count)} />
          <Line name="their answers" value={formatCount(incidents.answers)} />
          <Line name="their keys" value={formatCount(incidents.keys)} />
          <Line name="deliveries cancelled" value={formatCount(incidents.cancelled)} />
        </>
      )}
      <Line name="digest" value={erased.digest} isCopied />
      {missing.length > 0 && <Line name="not found" value={missing.join(', ')} />}
    </dl>
  );
}

/** When it was, under which id the journal has it, and what of it remains for a while. */
export function Proof({ receipt }: { receipt: EraseReceipt }): ReactNode {
  const [zone] = useZone();
  const at = (instant: string | null) =>
    instant === null ? '–' : `${formatInstant(instant, zone)} ${zoneName(zone)}`;
  const { id, remains } = receipt;
  return (
    <>
      <dl className={`below-16 ${contentClasses.fields}`}>
        <Line name="requested" value={at(receipt.requested_at)} />
        <Line name="no read finds it since" value={at(receipt.erased_at)} />
        <Line name="old objects removed" value={at(receipt.objects_removed_after)} />
        {id !== null && (
          <div>
            <dt>journal</dt>
            <dd>
              <a href={moveHref(id)}>{id}</a>
              <CopyButton value={id} label="Copy the id of the move" />
            </dd>
          </div>
        )}
      </dl>
      <Remains remains={remains} />
    </>
  );
}

function Line(props: { name: string; value: string; isCopied?: boolean }): ReactNode {
  const { name, value } = props;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        {props.isCopied && <CopyButton value={value} label={`Copy the ${name}`} />}
      </dd>
    </div>
  );
}
