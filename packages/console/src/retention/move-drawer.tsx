import type { ReactNode } from 'react';
import type { RetentionMove, TripleRow } from '../api/types.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Drawer } from '../ui/drawer.tsx';
import { Facts } from '../ui/facts.tsx';
import { formatBytes, formatCount } from '../ui/format.ts';
import { WarningIcon } from '../ui/icons.tsx';
import { Instant } from '../ui/marks.tsx';
import { ProofTable } from '../ui/numbers.tsx';
import { countOf, formatDuration } from '../ui/words.ts';
import { useMove } from './calls.ts';
import { MoveMark } from './marks.tsx';
import classes from './move.module.css';
import { retentionHref } from './search.ts';
import {
  daysText,
  isCalledOff,
  kindWords,
  ratioText,
  reasonText,
  type Step,
  stateWords,
  stepsOf,
} from './words.ts';

/** The drawer of one move: how far it came, what proves it, and why it failed. */
export function MoveDrawer({ id, onClose }: { id: string; onClose: () => void }): ReactNode {
  return (
    <Drawer
      kind="MOVE"
      title={id}
      id={id}
      onClose={onClose}
      noun="move"
      query={useMove(id)}
      rows={12}
    >
      {(data) => <Move move={data} />}
    </Drawer>
  );
}

/** The content of the drawer once the move has been read. */
function Move({ move }: { move: RetentionMove }): ReactNode {
  const isCopy = move.kind === 'move' || move.kind === 'compact' || move.object !== null;
  return (
    <>
      <p className="below-16" role="status">
        <MoveMark state={move.state} /> ·{' '}
        {isCalledOff(move) ? 'called off; nothing was changed' : stateWords[move.state]}
      </p>
      {move.state === 'failed' && <Fault move={move} />}
      {isCopy && (
        <>
          <h3 className="caps below-8">PROOF</h3>
          <Triples source={move.source} object={move.object} />
        </>
      )}
      {move.gone.count > 0 && (
        <>
          <h3 className="caps below-8">WENT FOR GOOD</h3>
          <p className="below-16">
            <TripleLine triple={move.gone} />
          </p>
        </>
      )}
      <h3 className="caps below-8">STEPS</h3>
      <Timeline move={move} />
      <h3 className="caps below-8">WHAT</h3>
      <MoveFacts move={move} />
    </>
  );
}

function Fault({ move }: { move: RetentionMove }): ReactNode {
  return (
    <div className={`note-box below-16 ${isCalledOff(move) ? 'box' : 'alarm'}`}>
      <WarningIcon />
      <div>
        <p>
          <strong>{move.error_code ?? 'failed'}</strong>
        </p>
        <p>{reasonText(move)}</p>
      </div>
    </div>
  );
}

/** The states of the move with their times. */
function Timeline({ move }: { move: RetentionMove }): ReactNode {
  const steps = stepsOf(move);
  return (
    <ol className="below-16">
      {steps.map((step, index) => (
        <StepLine key={step.name} step={step} before={lastTime(steps, index)} move={move} />
      ))}
    </ol>
  );
}

function lastTime(steps: readonly Step[], index: number): string | null {
  return steps.slice(0, index).findLast(({ at }) => at !== null)?.at ?? null;
}

const stepWords = {
  reached: '',
  passed: 'nothing to do',
  failed: 'failed on the way here',
  open: 'not yet',
} as const;

/** One state: when it was reached, and how long it took since the one before. */
function StepLine(props: { step: Step; before: string | null; move: RetentionMove }): ReactNode {
  const { step, before } = props;
  const at = step.state === 'failed' ? props.move.failed_at : step.at;
  return (
    <li className={`thread grid gap-8 ${classes.step}`} data-step={step.state}>
      <span className={classes.stepName}>{step.name}</span>
      <span className="muted">
        {stepWords[step.state]}
        {at !== null &&
          before !== null &&
          ` ${formatDuration(Date.parse(at) - Date.parse(before))}`}
      </span>
      {at !== null && (
        <time dateTime={at}>
          <Instant at={at} />
        </time>
      )}
    </li>
  );
}

function MoveFacts({ move }: { move: RetentionMove }): ReactNode {
  const { tenant, source, stored_bytes: stored, segments_in, segments_out, run_id: run } = move;
  return (
    <Facts
      facts={{
        kind: `${move.kind}: ${kindWords[move.kind]}`,
        tenant: <a href={retentionHref('tenant', tenant)}>{tenant}</a>,
        days: daysText(move.first_day, move.last_day),
        objects: `writes ${countOf(segments_out, 'object')}, replaces ${countOf(segments_in, 'object')}`,
        ...(stored !== null && {
          'stored in':
            source === null
              ? formatBytes(stored)
              : `${formatBytes(stored)} · ${ratioText(source.bytes, stored)} smaller`,
        }),
        run:
          run !== null ? (
            <>
              <a href={`#/retention?view=journal&run=${encodeURIComponent(run)}`}>{run}</a>
              <CopyButton value={run} label="Copy the id of the run" />
            </>
          ) : undefined,
      }}
    />
  );
}

const lines = [
  { name: 'records', of: ({ count }: TripleRow) => formatCount(count) },
  { name: 'bytes', of: ({ bytes }: TripleRow) => formatCount(bytes) },
  { name: 'digest', of: ({ digest }: TripleRow) => digest },
] as const;

/** The proof of a copy: the triple that was read from the source beside the one that was read back from the object. */
function Triples(props: { source: TripleRow | null; object: TripleRow | null }): ReactNode {
  const { source, object } = props;
  return (
    <ProofTable
      className={classes.triples}
      sides={['SOURCE', 'OBJECT, READ BACK']}
      rows={lines.map(({ name, of }) => ({
        name,
        values: [source && of(source), object && of(object)],
      }))}
      none={<span className="muted">not yet</span>}
    />
  );
}

/** One triple in a line; its digest can be copied. */
function TripleLine({ triple }: { triple: TripleRow }): ReactNode {
  return (
    <span className={`row wrap ${classes.tripleLine}`}>
      {formatCount(triple.count)} records · {formatCount(triple.bytes)} bytes ·{' '}
      <code>{triple.digest}</code>
      <CopyButton value={triple.digest} label="Copy the digest" />
    </span>
  );
}
