import { Button, Checkbox, Radio, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { EraseReceipt, RetentionPolicy } from '../../api/types.ts';
import { readSubject } from '../../api/views.ts';
import { CopyText, download } from '../../ui/copy-button.tsx';
import { ActionForm, faultText } from '../../ui/form.tsx';
import { formatBytes } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { HoldIcon, WarningIcon } from '../../ui/icons.tsx';
import { SkeletonRows } from '../../ui/list.tsx';
import { Moment } from '../../ui/marks.tsx';
import { Panel, PanelBody } from '../../ui/panel.tsx';
import { panelHref } from '../../ui/panel-place.ts';
import { countOf } from '../../ui/words.ts';
import {
  confirmWord,
  type EraseReach,
  type EraseScope,
  eraseReaches,
  requestOf,
  scopeOfRecord,
  scopeText,
  useErase,
  useErasePreview,
  usePolicyOf,
} from './erase-request.ts';
import { Effects, Proof } from './receipt.tsx';

type ErasePanelProps = {
  /** What is chosen on the page. */
  chosen: EraseScope | null;
  /** The record whose event is to be erased instead of what is chosen. */
  recordKey: string | undefined;
  /** The names of filters that are set on the page, and that do not limit an erasure. */
  unheeded: readonly string[];
  onClose: () => void;
};

/** The panel that erases: what would go, the question for its name, and the receipt, which stays until it is closed. */
export function ErasePanel(props: ErasePanelProps): ReactNode {
  const { chosen, recordKey } = props;
  const [reach, setReach] = useState<EraseReach>('day');
  const [hasIncidents, setHasIncidents] = useState(false);
  const erase = useErase();
  const [whose, setWhose] = useState('');
  const [asked] = useDebouncedValue(whose, typingPauseMillis);
  const subject = asked === '' ? undefined : readSubject(asked);
  const isChosen = recordKey === undefined && chosen?.eventId === undefined;
  const slice = recordKey === undefined ? chosen : scopeOfRecord(recordKey, reach);
  const scope =
    slice === null || !isChosen || subject === undefined ? slice : subject && { ...slice, subject };
  const [erased, setErased] = useState<EraseScope | null>(null);
  const receipt = erase.data;
  const about = receipt === undefined ? scope : erased;
  return (
    <Panel
      kind={receipt === undefined ? 'ERASE' : 'ERASED'}
      title={about === null ? '' : scopeText(about)}
      id={receipt === undefined ? 'erase' : 'receipt'}
      closeLabel="Close erase"
      onClose={props.onClose}
    >
      <PanelBody>
        {slice === null && <p className="muted">This link names no record.</p>}
        {receipt === undefined && slice !== null && isChosen && (
          <TextInput
            className="below-12"
            label="Only of a person or a thing"
            description="A key of the enrichment and the value that stands there; empty: all of it."
            placeholder="passenger.email=kim@example.com"
            autoCapitalize="off"
            spellCheck={false}
            maxLength={1501}
            value={whose}
            onChange={(event) => setWhose(event.currentTarget.value)}
            error={subject === null && 'It is spelled FIELD=VALUE.'}
          />
        )}
        {receipt === undefined && recordKey !== undefined && scope !== null && (
          <ReachChoice recordKey={recordKey} reach={reach} onReach={setReach} />
        )}
        {receipt === undefined && scope !== null && isChosen && whose !== asked && (
          <SkeletonRows rows={10} label="Looking what would go" />
        )}
        {receipt === undefined && scope !== null && !(isChosen && whose !== asked) && (
          <Question
            // What was typed for one slice must not confirm another.
            key={scopeText(scope)}
            scope={scope}
            hasIncidents={hasIncidents}
            onIncidents={setHasIncidents}
            unheeded={recordKey === undefined && !scope.subject ? props.unheeded : []}
            erase={erase}
            onErase={(reason) => {
              setErased(scope);
              erase.mutate({
                ...requestOf(scope),
                ...(hasIncidents && { incidents: true }),
                ...(reason !== '' && { reason }),
              });
            }}
            onClose={props.onClose}
          />
        )}
        {receipt !== undefined && <Receipt receipt={receipt} onClose={props.onClose} />}
      </PanelBody>
    </Panel>
  );
}

const typingPauseMillis = 400;

/** Where records with the id of an event are looked for. */
function ReachChoice(props: {
  recordKey: string;
  reach: EraseReach;
  onReach: (reach: EraseReach) => void;
}): ReactNode {
  const { recordKey, reach, onReach } = props;
  const nameOf = (of: EraseReach) => {
    const scope = scopeOfRecord(recordKey, of);
    return scope === null ? '' : scopeText({ ...scope, eventId: undefined });
  };
  return (
    <Radio.Group
      className="below-16"
      label="Records of this event in"
      value={reach}
      onChange={(value) => onReach(value)}
    >
      {eraseReaches.map((each) => (
        <Radio key={each} mt={8} value={each} label={nameOf(each)} />
      ))}
    </Radio.Group>
  );
}

type QuestionProps = {
  scope: EraseScope;
  /** Whether what incidents tell goes, too. */
  hasIncidents: boolean;
  onIncidents: (hasIncidents: boolean) => void;
  unheeded: readonly string[];
  erase: ReturnType<typeof useErase>;
  onErase: (reason: string) => void;
  onClose: () => void;
};

/** What would go, and the field that confirms it. */
function Question(props: QuestionProps): ReactNode {
  const { scope, hasIncidents, unheeded, erase, onErase, onClose } = props;
  const { tenant } = scope;
  const preview = useErasePreview({
    ...requestOf(scope),
    ...(hasIncidents && { incidents: true }),
  });
  const policy = usePolicyOf(tenant);
  const failure = useFailure(preview, policy);
  const [typed, setTyped] = useState('');
  const [reason, setReason] = useState('');
  if (preview.data === undefined || policy.data === undefined) {
    if (failure === null) return <SkeletonRows rows={10} label="Looking what would go" />;
    return <FailurePanel error={failure} onRetry={() => retryAll([preview, policy])} />;
  }
  const { count, bytes } = preview.data.erased;
  const isHeld = policy.data.hold;
  const incidents = preview.data.incidents?.count ?? 0;
  const isAny = count + incidents > 0;
  const word = confirmWord(scope);
  const mayErase = isAny && !isHeld && typed === word;
  return (
    <ActionForm
      label="What is erased"
      call={erase}
      onSend={() => onErase(reason.trim())}
      isReady={mayErase}
      button={isAny && !isHeld ? eraseText(count, incidents) : null}
      isGrave
      fault={isHeld ? '' : faultText(erase.error)}
      isFaultAbove
      others={<Button onClick={onClose}>{isAny && !isHeld ? 'Cancel' : 'Close'}</Button>}
    >
      <p role="status">
        {isAny ? (
          <>
            <strong className="large">{countOf(count, 'record')}</strong> · {formatBytes(bytes)}
            {incidents > 0 && ` · what ${countOf(incidents, 'incident')} tell`} would go, for good.
          </>
        ) : (
          `No record ${hasIncidents ? 'and no incident ' : ''}is here to erase.`
        )}
      </p>
      <Checkbox
        mb="xs"
        label="Also incidents: their payloads, idempotency keys and stored answers"
        checked={hasIncidents}
        onChange={(event) => props.onIncidents(event.currentTarget.checked)}
      />
      {unheeded.length > 0 && count > 0 && (
        <p className="warning">
          <WarningIcon />
          <span>
            The {unheeded.length === 1 ? 'filter' : 'filters'} {unheeded.join(' and ')} of the page{' '}
            {unheeded.length === 1 ? 'does' : 'do'} not limit it: all records of these days go.
          </span>
        </p>
      )}
      {isHeld && <Hold policy={policy.data} tenant={tenant} />}
      {isAny && <Effects receipt={preview.data} />}
      {isAny && !isHeld && (
        <>
          <p className="muted">Nothing brings them back but a backup that you keep elsewhere.</p>
          <TextInput
            label="Reason"
            description="The receipt and the audit log keep it, so name nobody: a ticket, say."
            placeholder="ticket 4711"
            maxLength={500}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          <TextInput
            label={
              <>
                Type <strong className="mono">{word}</strong> to confirm
              </>
            }
            autoCapitalize="off"
            spellCheck={false}
            maxLength={1000}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        </>
      )}
    </ActionForm>
  );
}

function eraseText(records: number, incidents: number): string {
  const parts = [
    records > 0 ? countOf(records, 'record') : '',
    incidents > 0 ? countOf(incidents, 'incident') : '',
  ];
  return `ERASE ${parts.filter((part) => part !== '').join(' · ')}`;
}

function retryAll(queries: readonly UseQueryResult<unknown>[]): void {
  for (const query of queries) if (query.data === undefined) void query.refetch();
}

/** Why nothing may be erased: the legal hold, who set it, and where it is lifted. */
function Hold({ policy, tenant }: { policy: RetentionPolicy; tenant: string }): ReactNode {
  const of = policy.from_default ? '*' : tenant;
  const href = panelHref('/retention', { kind: 'tenant', id: of });
  return (
    <p className="warning" role="alert">
      <HoldIcon />
      <span>
        {tenant} is under legal hold
        {policy.from_default && ', as all tenants without a policy of their own'}: nothing of it may
        be erased. {policy.updated_by === null ? 'It was set' : `${policy.updated_by} set it`}{' '}
        <Moment at={policy.updated_at} />. <a href={href}>The policy</a> lifts it.
      </span>
    </p>
  );
}

/** What the service answered: what went, where the proof is, and what remains for a while. */
function Receipt({ receipt, onClose }: { receipt: EraseReceipt; onClose: () => void }): ReactNode {
  const { id, tenant, erased } = receipt;
  const text = () => `${JSON.stringify(receipt, null, 2)}\n`;
  return (
    <>
      <p role="status">
        <strong className="large">{countOf(erased.count, 'record')}</strong> ·{' '}
        {formatBytes(erased.bytes)}{' '}
        {receipt.erased_at === null
          ? 'go: the service is still at work, and the journal shows how far it is.'
          : 'went. No read finds any of it.'}
      </p>
      <div className="flex gap-6 above-8 below-12">
        <CopyText label="Copy receipt" value={text} />
        <Button
          size="compact-xs"
          onClick={() =>
            download({
              name: `erased-${tenant}-${id ?? 'nothing'}.json`,
              text: text(),
              type: 'application/json',
            })
          }
        >
          Download JSON
        </Button>
      </div>
      <Effects receipt={receipt} />
      <Proof receipt={receipt} />
      <div className="flex wrap end gap-8">
        <Button variant="filled" onClick={onClose}>
          Done
        </Button>
      </div>
    </>
  );
}
