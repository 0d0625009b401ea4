import type { ReactNode } from 'react';
import type { AccessToken, Endpoint, Page, RecordsOverview } from '../api/types.ts';
import { basePath } from '../api/values.ts';
import { Copied } from '../ui/copy-button.tsx';
import { dayMillis } from '../ui/days.ts';
import { OkIcon } from '../ui/icons.tsx';
import { useRead } from '../ui/poll.tsx';
import { useSession } from '../ui/session.ts';
import classes from './overview.module.css';

const youngMillis = 3 * dayMillis;

/** Whether nothing was stored before the last three days. */
export function isYoung({ counted_from: from }: RecordsOverview): boolean {
  return from === null || Date.now() - Date.parse(from) < youngMillis;
}

/**
 * The first steps of an installation, with what to type, until all were taken, or records and incidents come by other ways.
 * What a token may not see, it is not told.
 */
export function Start({ records }: { records: RecordsOverview }): ReactNode {
  const isAdmin = useSession().hasScope('admin');
  const read = { isWanted: isAdmin };
  const tokens = useRead<Page<AccessToken>>(['access', 'tokens'], '/tokens', read);
  const endpoints = useRead<Page<Endpoint>>(
    ['webhooks', 'endpoints', 'first'],
    '/webhook/endpoints',
    { ...read, params: { limit: 1 } },
  );
  const isWriter = ({ scopes }: AccessToken) => scopes.includes('enrichment:write');
  const steps = [
    ...(isAdmin
      ? [
          {
            name: 'A token for your pipeline',
            line: tokenLine,
            isDone: tokens.data?.data.some(isWriter),
          },
        ]
      : []),
    { name: 'The first record', line: recordLine(), isDone: records.count > 0 },
    ...(isAdmin
      ? [
          {
            name: 'A place for incidents',
            line: listenLine,
            note: 'It listens on this machine: start the service with SVC_ALLOW_TARGETS=127.0.0.0/8 to allow that.',
            isDone: endpoints.data && endpoints.data.data.length > 0,
          },
        ]
      : []),
  ];
  if (records.count > 0 && steps.slice(1).every(({ isDone }) => isDone !== false)) return null;
  return (
    <section className={`flex-none line-under ${classes.start}`} aria-label="First steps">
      <h2 className="figure-name below-8">FIRST STEPS</h2>
      <ol>
        {steps.map(({ name, line, isDone, note }, at) => (
          <li key={name}>
            <p className="row gap-6 wrap">
              <strong>
                {at + 1}. {name}
              </strong>
              <span role="status" className={isDone ? 'mark ok' : 'muted'}>
                {isDone && <OkIcon />}
                {isDone === undefined ? '' : isDone ? 'done' : 'not yet'}
              </span>
            </p>
            {!isDone && <Copied text={line} />}
            {!isDone && note !== undefined && <p className="muted small">{note}</p>}
          </li>
        ))}
      </ol>
      {records.count === 0 && (
        <p className="muted row gap-6 wrap">
          Or look at real data first, in a folder of its own: <Copied text="svcctl demo" />
        </p>
      )}
    </section>
  );
}

const tokenLine = 'svcctl tokens create --name pipeline --preset pipeline > pipeline.token';
const listenLine = 'svcctl listen --register --tenant acme';

/** Stores a record of this minute by the token of the first step. */
function recordLine(): string {
  const occurred_at = `${new Date().toISOString().slice(0, 16)}:00Z`;
  const record = {
    tenant: 'acme',
    store: 'first',
    event_id: 'e1',
    occurred_at,
    enrichment: { score: 0.9 },
  };
  return [
    'curl -H "Authorization: Bearer $(cat pipeline.token)" -H "Content-Type: application/json"',
    `-d '${JSON.stringify({ records: [record] })}' ${window.location.origin}${basePath}/enrichment/records`,
  ].join(' ');
}
