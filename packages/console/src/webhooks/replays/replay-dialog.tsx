import { Button, Checkbox, Modal, NativeSelect, NumberInput, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { api } from '../../api/client.ts';
import type { Endpoint, Replay, ReplayPreview, ReplayRequest } from '../../api/types.ts';
import { type ReplaySelection, replaySelections } from '../../api/values.ts';
import { useAct } from '../../ui/act.ts';
import { ActionForm, faultText } from '../../ui/form.tsx';
import { formatCount } from '../../ui/format.ts';
import { SkeletonText } from '../../ui/list.tsx';
import { jobHref } from '../../ui/panel-place.ts';
import { useRead } from '../../ui/poll.tsx';
import { type Session, useSession } from '../../ui/session.ts';
import { notify } from '../../ui/toasts.tsx';
import { countOf } from '../../ui/words.ts';
import { endpointPath, webhooksKey } from '../query-keys.ts';
import { inList } from '../search.ts';
import { readMoment } from './moment.ts';
import classes from './replays.module.css';

/** The button that sends an endpoint what it missed, or again what it got: it opens a dialog. */
export function ReplayButton({ endpoint }: { endpoint: Endpoint }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>Replay…</Button>
      <Modal opened={isOpen} onClose={close} size={560} title="Replay to this endpoint">
        {isOpen && <ReplayForm endpoint={endpoint} onClose={close} />}
      </Modal>
    </>
  );
}

/** What the form holds, as it is typed and chosen. */
type Choice = {
  since: string;
  until: string;
  only: ReplaySelection;
  types: string;
  isSame: boolean;
  isUnfiltered: boolean;
  rate: number | null;
};

const firstChoice: Choice = {
  since: '24h',
  until: '',
  only: 'missed',
  types: '',
  isSame: false,
  isUnfiltered: false,
  rate: null,
};
const onlyWords: Readonly<Record<ReplaySelection, string>> = {
  missed: 'what it never got',
  failed: 'its dead letters',
  delivered: 'what it got, again',
  all: 'all of these',
};
const [momentHelp, typingMillis] = ['24h, a day or a time (UTC)', 400];

function ReplayForm({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }): ReactNode {
  const path = `${endpointPath(endpoint.id)}/replay`;
  const { hasScope } = useSession();
  // What was held back is what is most likely missing.
  const { held_back: held } = endpoint;
  const [choice, setChoice] = useState({ ...firstChoice, since: held?.since ?? firstChoice.since });
  const change = (part: Partial<Choice>) => setChoice({ ...choice, ...part });
  const { request, faults } = useRequest(choice);
  const preview = useRead<ReplayPreview>(
    [...webhooksKey, 'replay', endpoint.id, request],
    (signal) => api.post(path, { ...request, dry_run: true }, { signal }),
    { isFresh: true, isWanted: request !== null },
  );
  const start = useAct({
    call: () => api.post<Replay>(path, request),
    onDone({ id, rows_total: total }) {
      const what = total === null ? '' : `${countOf(total, 'delivery', 'deliveries')} `;
      const text = `Replays ${what}to ${endpoint.url}`;
      notify({ text, ...followed(hasScope, id) });
      onClose();
    },
    changes: (client) => client.invalidateQueries(),
  });
  const found = request === null || preview.isFetching ? undefined : preview.data;
  const fault = start.error === null ? faultText(preview.error) : faultText(start.error);
  return (
    <ActionForm
      call={start}
      onSend={() => start.mutate()}
      isReady={found !== undefined && (found.count > 0 || found.counted_until !== null)}
      button={found === undefined ? 'Replay' : `Replay ${formatCount(found.count)}`}
      others={<Button onClick={onClose}>Cancel</Button>}
      fault={fault}
      isFaultAbove
    >
      <div className="flex wrap gap-12">
        <TextInput
          className="grow"
          label="Reported since"
          description={momentHelp}
          value={choice.since}
          onChange={(event) => change({ since: event.currentTarget.value })}
          error={faults.since}
          data-autofocus
        />
        <TextInput
          className="grow"
          label="and before"
          description="empty: now"
          value={choice.until}
          onChange={(event) => change({ until: event.currentTarget.value })}
          error={faults.until}
        />
      </div>
      <div className="flex wrap gap-12">
        <NativeSelect
          className="grow"
          label="Send"
          value={choice.only}
          data={replaySelections.map((value) => ({ value, label: onlyWords[value] }))}
          onChange={(event) => change({ only: event.currentTarget.value as ReplaySelection })}
        />
        <NumberInput
          className="grow"
          label="Deliveries a second, at most"
          placeholder="no limit"
          min={1}
          max={100_000}
          value={choice.rate ?? ''}
          onChange={(value) => change({ rate: typeof value === 'number' ? value : null })}
        />
      </div>
      <TextInput
        label="Event types"
        description="Such as incident.created, incident.*. Empty: all"
        value={choice.types}
        onChange={(event) => change({ types: event.currentTarget.value })}
      />
      <Checkbox
        label="Keep the webhook-id of what was delivered: receivers that drop repeats drop it"
        checked={choice.isSame}
        onChange={(event) => change({ isSame: event.currentTarget.checked })}
      />
      <Checkbox
        label="Also what the endpoint does not want now"
        checked={choice.isUnfiltered}
        onChange={(event) => change({ isUnfiltered: event.currentTarget.checked })}
      />
      <Found preview={found} isAsked={request !== null && preview.error === null} />
    </ActionForm>
  );
}

/** The request of a choice, once typing has rested; null while a moment cannot be read. */
function useRequest(choice: Choice): {
  request: ReplayRequest | null;
  faults: { since?: string; until?: string };
} {
  // The ends are fixed when they were typed, so that what is counted is what is sent.
  const [settled, setSettled] = useState({ choice, nowMillis: Date.now() });
  useEffect(() => {
    const timer = setTimeout(() => setSettled({ choice, nowMillis: Date.now() }), typingMillis);
    return () => clearTimeout(timer);
  }, [choice]);
  const { nowMillis } = settled;
  const { since: sinceText, until: untilText, only, isSame, isUnfiltered, rate } = settled.choice;
  const types = settled.choice.types
    .split(/[\s,]+/)
    .filter((type) => type !== '')
    .map(inList);
  const since = readMoment(sinceText, { nowMillis, edge: 'first' });
  const until = untilText === '' ? undefined : readMoment(untilText, { nowMillis, edge: 'last' });
  const wrong = `No moment: ${momentHelp}`;
  const faults = {
    ...(since === null && { since: wrong }),
    ...(until === null && { until: wrong }),
  };
  if (settled.choice !== choice || since === null || until === null)
    return { request: null, faults };
  const request: ReplayRequest = {
    since,
    only,
    ids: isSame ? 'same' : 'new',
    filters: isUnfiltered ? 'ignore' : 'apply',
    ...(until !== undefined && { until }),
    ...(types.length > 0 && { event_types: types }),
    ...(rate !== null && { rate }),
  };
  return { request, faults };
}

const states = [
  ['missed', 'never got'],
  ['discarded', 'discarded'],
  ['failed', 'dead letters'],
  ['delivered', 'delivered'],
  ['waiting', 'queued already'],
  ['unwanted', 'that it does not want'],
  ['erased', 'erased'],
] as const;

/** What a replay finds, by what it makes of it, and what to know before. */
function Found(props: { preview: ReplayPreview | undefined; isAsked: boolean }): ReactNode {
  const { preview, isAsked } = props;
  if (preview === undefined) {
    return (
      <div className={`stack gap-8 ${classes.found}`}>
        {isAsked && <SkeletonText width="240px" />}
      </div>
    );
  }
  const shown = states.filter(([state]) => preview[state] > 0);
  return (
    <div className={`stack gap-8 ${classes.found}`} role="status">
      <p>
        {preview.counted_until !== null && '≥ '}
        <strong>{countOf(preview.count, 'delivery', 'deliveries')}</strong> will be queued
        {shown.length === 0 && ': nothing was reported in this range'}
      </p>
      {shown.length > 0 && (
        <p className="muted">
          {shown.map(([state, word]) => `${formatCount(preview[state])} ${word}`).join(' · ')}
        </p>
      )}
      {preview.notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
    </div>
  );
}

/** Leads to a replay in the list of all jobs, for those who may see it there. */
function followed(hasScope: Session['hasScope'], id: string) {
  return hasScope('dlq:operate') ? { href: jobHref(id), linkText: 'follow it' } : {};
}

/** A button that sends the incident of a delivery to its endpoint again. It asks first. */
export function useSendAgain() {
  const { hasScope } = useSession();
  return useAct({
    call: ({ endpoint_id, incident_id }: { endpoint_id: string; incident_id: string }) =>
      api.post<Replay>(`${endpointPath(endpoint_id)}/replay`, {
        incident_id,
        only: 'all',
        filters: 'ignore',
      }),
    onDone: ({ id, rows_total: total, waits_for_room: isFull }) => {
      const queued = isFull ? 'It goes once less waits for the endpoint' : 'Queued once more';
      const none =
        'Nothing is queued: it waits already, or nobody knows any more whether it was delivered';
      notify({ text: total === null ? none : queued, ...followed(hasScope, id) });
    },
    failed: 'Not sent again',
    changes: webhooksKey,
  });
}
