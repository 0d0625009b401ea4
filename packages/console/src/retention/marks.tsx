import { Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import type { RetentionMove, TenantState } from '../api/types.ts';
import type { MoveState } from '../api/values.ts';
import { formatBytes, formatCount, sharesOf } from '../ui/format.ts';
import { AbandonedIcon, DeliveredIcon, HoldIcon, PendingIcon } from '../ui/icons.tsx';
import classes from './marks.module.css';
import { type Step, shownState, stateWords, stepsOf } from './words.ts';

/** How much of something is hot and how much is cold. */
type Share = Pick<
  TenantState,
  'hot_count' | 'hot_bytes' | 'cold_count' | 'cold_bytes' | 'cold_stored_bytes'
>;

/** A bar with two parts, hot and cold records. Hover and focus show the figures. */
export function ShareBar(props: {
  share: Share;
  tabIndex?: number;
  className?: string | undefined;
}): ReactNode {
  const { share, tabIndex = 0 } = props;
  const [hot, cold] = sharesOf(share.hot_count, share.cold_count);
  const text = shareText(share);
  return (
    <Tooltip label={text}>
      <span
        className={`${classes.share} ${props.className ?? ''}`}
        role="img"
        aria-label={text}
        // It can take the focus, because that shows its figures.
        tabIndex={tabIndex}
      >
        <span className={partOf(hot)}>{hot} %</span>
        <span className={`flex ${classes.bar}`}>
          {hot > 0 && <span className={classes.hot} style={{ flexGrow: hot }} />}
          {cold > 0 && <span className={classes.cold} style={{ flexGrow: cold }} />}
        </span>
        <span className={partOf(cold)}>{cold} %</span>
      </span>
    </Tooltip>
  );
}

const partOf = (percent: number) => `nowrap right ${classes.part} ${percent === 0 ? 'muted' : ''}`;

function shareText(share: Share): string {
  const hot = `hot ${formatCount(share.hot_count)} records, ${formatBytes(share.hot_bytes)}`;
  const cold = `cold ${formatCount(share.cold_count)} records, ${formatBytes(share.cold_bytes)}`;
  const stored = share.cold_count === 0 ? '' : ` in ${formatBytes(share.cold_stored_bytes)}`;
  return `${hot} · ${cold}${stored}`;
}

/** The legend of a ShareBar: the name of a tier with its colour. */
export function TierWord({ tier }: { tier: 'hot' | 'cold' }): ReactNode {
  return (
    <span className={`mark ${classes.tier}`}>
      <span className={tier === 'hot' ? classes.hot : classes.cold} />
      {tier.toUpperCase()}
    </span>
  );
}

/** Marks a tenant under legal hold. */
export function HoldMark(): ReactNode {
  return (
    <span
      className={`inline-row gap-4 ${classes.hold}`}
      title="Legal hold: nothing of it is moved, deleted or erased"
    >
      <HoldIcon />
      HOLD
    </span>
  );
}

/** The state of a move as a word with a shape and a colour. */
export function MoveMark({ state }: { state: MoveState }): ReactNode {
  const Icon = iconOf(state);
  return (
    <span className={`mark middle ${toneOf(state)}`} title={stateWords[state]}>
      <Icon />
      {shownState(state)}
    </span>
  );
}

function iconOf(state: MoveState): () => ReactNode {
  if (state === 'failed') return AbandonedIcon;
  return toneOf(state) === 'ok' ? DeliveredIcon : PendingIcon;
}

function toneOf(state: MoveState): 'danger' | 'ok' | 'data' {
  if (state === 'failed') return 'danger';
  return state === 'switched' || state === 'removed' ? 'ok' : 'data';
}

/** The five states of a move as steps; those that it has reached are filled. */
export function Stepper({ move }: { move: RetentionMove }): ReactNode {
  const steps = stepsOf(move);
  const { state } = move;
  return (
    <span className={`mark middle ${toneOf(state)}`} title={stateWords[state]}>
      <svg
        className={`flex-none ${classes.steps}`}
        width="92"
        height="16"
        viewBox="0 0 92 16"
        role="img"
        aria-label={stepsText(steps)}
      >
        {steps.map((step, index) => (
          <StepShape key={step.name} step={step} x={8 + index * 19} isFirst={index === 0} />
        ))}
      </svg>
      {shownState(state)}
    </span>
  );
}

function StepShape(props: { step: Step; x: number; isFirst: boolean }): ReactNode {
  const { step, x } = props;
  return (
    <g data-step={step.state}>
      {!props.isFirst && <path d={`M${x - 13.5} 8h8`} />}
      {step.state === 'failed' ? (
        <path d={`m${x - 3.5} 4.5 7 7m0-7-7 7`} />
      ) : (
        <circle cx={x} cy="8" r={step.state === 'passed' ? 1.5 : 4} />
      )}
    </g>
  );
}

/** The steps of a move in words, for assistive technology. */
function stepsText(steps: readonly Step[]): string {
  const reached = steps.filter(({ state }) => state === 'reached').map(({ name }) => name);
  const failed = steps.find(({ state }) => state === 'failed');
  const end = failed === undefined ? '' : `; failed on the way to ${failed.name}`;
  return `reached: ${reached.join(', ')}${end}`;
}
