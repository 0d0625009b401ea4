import { Button } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { api, pathWith } from '../api/client.ts';
import { basePath, membersOf } from '../api/values.ts';
import { CopyText } from '../ui/copy-button.tsx';
import classes from '../ui/drawer.module.css';
import { copied, Facts } from '../ui/facts.tsx';
import { formatExactBytes, formatInstant, visibleText } from '../ui/format.ts';
import { printJson } from '../ui/json-source.ts';
import { JsonText } from '../ui/json-text.tsx';
import { Loaded } from '../ui/list.tsx';
import { Panel, PanelBody } from '../ui/panel.tsx';
import { neverStale, useRead } from '../ui/poll.tsx';
import { shellLine } from '../ui/words.ts';
import { useZone, zoneName } from '../ui/zone-switch.tsx';
import { decodeRecord, type RecordIdentity } from './search.ts';

type RecordDrawerProps = {
  recordKey: string;
  /** Asks to erase the event of the record; undefined for those who may not. */
  onErase: (() => void) | undefined;
  onClose: () => void;
};

/** The drawer of one record, with every character as it was sent. */
export function RecordDrawer({ recordKey, onErase, onClose }: RecordDrawerProps): ReactNode {
  const identity = useMemo(() => decodeRecord(recordKey), [recordKey]);
  const read = (signal: AbortSignal) =>
    api.getBy(readRecord, '/enrichment/records/one', identity ?? {}, signal);
  const query = useRead(['records', 'one', recordKey], read, {
    isWanted: identity !== null,
    isOne: true,
    everyMillis: null,
    staleMillis: neverStale,
  });
  return (
    <Panel
      kind="RECORD"
      title={identity?.event_id ?? recordKey}
      id={recordKey}
      closeLabel="Close record"
      onClose={onClose}
    >
      {identity === null ? (
        <PanelBody>
          <p className="muted">This link names no record.</p>
        </PanelBody>
      ) : (
        <Loaded query={query} name="the record" rows={14} isPanel>
          {(record) => <RecordBody identity={identity} record={record} onErase={onErase} />}
        </Loaded>
      )}
    </Panel>
  );
}

/** The JSON text of a record, and its fields, which are cut out of it. */
function readRecord(source: string) {
  return { source, members: membersOf(source) };
}

/** The fields of a record. */
function RecordBody(props: {
  identity: RecordIdentity;
  record: ReturnType<typeof readRecord>;
  onErase: (() => void) | undefined;
}): ReactNode {
  const { identity, onErase } = props;
  const { source, members } = props.record;
  const [zone] = useZone();
  const enrichment = members.get('enrichment') ?? 'null';
  const instant = (name: string) => formatInstant(plain(members.get(name)) ?? '', zone);
  const bytes = Number(members.get('bytes') ?? 0);
  return (
    <>
      <div className={`flex wrap gap-6 flex-none line-under ${classes.copies}`}>
        <CopyText label="Copy record" value={() => printJson(source)} />
        <CopyText label="Copy enrichment" value={() => printJson(enrichment)} />
        <CopyText label="Copy as curl" value={() => curlLine(identity)} />
        <CopyText label="Copy link" value={() => window.location.href} />
        {onErase !== undefined && (
          <Button size="compact-xs" className="push danger" onClick={onErase}>
            ERASE…
          </Button>
        )}
      </div>
      <PanelBody label="Fields of the record">
        <Facts
          facts={{
            tenant: visibleText(identity.tenant),
            store: visibleText(identity.store),
            event_id: copied(identity.event_id, visibleText(identity.event_id)),
            [`occurred_at (${zoneName(zone)})`]: copied(
              identity.occurred_at,
              instant('occurred_at'),
            ),
            [`recorded_at (${zoneName(zone)})`]: instant('recorded_at'),
            kind: plain(members.get('kind')),
            source: plain(members.get('source')),
            model: plain(members.get('model')),
            confidence: plain(members.get('confidence')),
            bytes: formatExactBytes(bytes),
          }}
        />
        <h3 className="caps below-8">ENRICHMENT</h3>
        <JsonText source={enrichment} />
      </PanelBody>
    </>
  );
}

/** The text of a JSON scalar: strings without quotes, numbers as they are spelled; null where there is none. */
function plain(source: string | undefined): string | null {
  if (source === undefined || source === 'null' || source === '""') return null;
  return source.startsWith('"') ? visibleText(String(JSON.parse(source))) : source;
}

function curlLine(identity: RecordIdentity): string {
  const url = `${window.location.origin}${basePath}${pathWith('/enrichment/records/one', identity)}`;
  // In double quotes the shell inserts the token, so that the copied line never contains it.
  return `curl -sS -H "Authorization: Bearer $SVC_TOKEN" ${shellLine([url])}`;
}
