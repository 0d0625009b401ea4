import { laneOfDelivery } from '../../lanes.ts';
import type { OutcomeRow } from '../outcome-queries.ts';

/** What a first attempt under the lease 1 makes of a delivery: it is delivered, unless `more` says otherwise. */
export const outcomeRow = (id: string, more: Partial<OutcomeRow> = {}): OutcomeRow => ({
  lane: laneOfDelivery(id) ?? 0,
  id,
  lease: 1,
  status: 'delivered',
  attempts: 1,
  maxAttempts: 8,
  delaySeconds: null,
  heldBy: null,
  failureClass: null,
  error: null,
  httpStatus: 204,
  target: 'https://receiver.example/hook',
  agoMillis: 0,
  durationMillis: 1,
  response: null,
  ...more,
});
