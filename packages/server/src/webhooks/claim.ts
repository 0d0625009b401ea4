import type { DeliveryStatus, FailureClass } from './values.ts';

export type ClaimedRow = {
  lane: number;
  id: string;
  incident_id: string;
  /** The request that reported the incident; null where an earlier release stored it. */
  request_id: string | null;
  /** The trace that it was reported in, a `traceparent`; null where none was written then. */
  trace_parent: string | null;
  endpoint_id: string;
  tenant: string;
  idempotency_key: string;
  /** The webhook-id under which a replay sends it again; null where it is sent for the first time. */
  replay_of: string | null;
  /** Its number in the order of its key, or nearly of its endpoint; null where an earlier release stored it. */
  sequence: number | null;
  /** What it goes in order with; null: nothing. */
  order_key: string | null;
  status: DeliveryStatus;
  failure_class: FailureClass | null;
  attempts: number;
  max_attempts: number;
  schedule_from: number;
  age_seconds: number;
  body: string;
  config_version: number;
  /** For how long it was due before it was claimed, in milliseconds. */
  waited_ms: number;
  is_fresh: boolean;
  /** For how long its receiver has refused it for now, without an attempt that counts; null when it never did. */
  throttled_seconds: number | null;
};

export type ClaimRequest = {
  lane: number;
  endpointId: string;
  count: number;
  /** Whether those are meant that were never tried; otherwise those that wait for another attempt. */
  isFresh: boolean;
};

/** Who attempts the claimed rows, and for how long nobody else may. A claim of a lane's former keeper finds nothing. */
export type Lease = { id: number; seconds: number; keeper: number };

/**
 * Room that the drainer of this process keeps for deliveries about to be stored: these are stored as claimed, up to
 * `count` of each endpoint, which saves a statement and a commit. `begin` must be called once, with those rows or none.
 */
export type HeadStart = {
  readonly rooms: readonly ClaimRequest[];
  readonly lease: Lease;
  begin(rows: readonly ClaimedRow[]): void;
};
