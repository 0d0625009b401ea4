import type { ReactNode } from 'react';

// Drawn on 16 × 16, one stroke width. Each stands beside a word or on a labelled button: hidden from
// assistive technology.

function icon(shape: ReactNode): () => ReactNode {
  return () => (
    <svg
      width="16"
      height="16"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
      style={{ flex: 'none' }}
    >
      {shape}
    </svg>
  );
}

export const SearchIcon = icon(
  <>
    <circle cx="7" cy="7" r="4.2" />
    <path d="m10.2 10.2 3.3 3.3" />
  </>,
);
export const CopyIcon = icon(
  <>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.2" />
    <path d="M3.5 10.5h-1v-8h8v1" />
  </>,
);
export const CheckIcon = icon(<path d="m3 8.5 3.2 3.2L13 4.8" />);
export const CloseIcon = icon(<path d="m4 4 8 8m0-8-8 8" />);
export const WarningIcon = icon(
  <>
    <path d="M8 2.2 14.4 13.4H1.6Z" />
    <path d="M8 6.5v3.2M8 11.6v.1" />
  </>,
);
export const SunIcon = icon(
  <>
    <circle cx="8" cy="8" r="2.8" />
    <path d="M8 1.5v1.3m0 10.4v1.3M1.5 8h1.3m10.4 0h1.3M3.4 3.4l.9.9m7.4 7.4.9.9m0-9.2-.9.9m-7.4 7.4-.9.9" />
  </>,
);
export const MoonIcon = icon(<path d="M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5a5.8 5.8 0 1 0 7.1 7.1Z" />);
export const SystemIcon = icon(
  <>
    <rect x="1.8" y="2.8" width="12.4" height="8.4" rx="1" />
    <path d="M5.5 13.8h5" />
  </>,
);
export const ChevronDownIcon = icon(<path d="m4 6 4 4 4-4" />);
export const ChevronRightIcon = icon(<path d="m6 4 4 4-4 4" />);
export const UserIcon = icon(
  <>
    <circle cx="8" cy="5.2" r="2.7" />
    <path d="M2.8 13.8c.6-2.6 2.6-4 5.2-4s4.6 1.4 5.2 4" />
  </>,
);
export const DownloadIcon = icon(<path d="M8 2v8m-3.2-3.200L8 10l3.2-3.200M2.5 13.500h11" />);
export const LinkIcon = icon(
  <path d="M6.8 9.200a2.6 2.6 0 0 0 3.7 0l2.3-2.300a2.6 2.6 0 0 0-3.7-3.700l-.7.7M9.2 6.800a2.6 2.6 0 0 0-3.7 0L3.2 9.100a2.6 2.6 0 0 0 3.7 3.700l.7-.7" />,
);
export const RecordsIcon = icon(
  <>
    <ellipse cx="8" cy="3.8" rx="5.2" ry="2" />
    <path d="M2.8 3.800v8.400c0 1.1 2.3 2 5.2 2s5.2-.9 5.2-2V3.800M2.8 8c0 1.1 2.3 2 5.2 2s5.2-.9 5.2-2" />
  </>,
);
/** A file that leaves the box. */
export const ExportsIcon = icon(
  <>
    <path d="M9 2H3.500v12h9V9.500" />
    <path d="M8 8.500 13.500 3M10 2.500h4v4" />
  </>,
);
/** What sinks into the box below. */
export const RetentionIcon = icon(
  <>
    <path d="M2.500 9v4.500h11V9" />
    <path d="M8 2v7.500m-2.800-2.800L8 9.500l2.800-2.800" />
  </>,
);
/** A lock: what a legal hold keeps as it is. */
export const HoldIcon = icon(
  <>
    <rect x="3.500" y="7" width="9" height="6.500" rx="1" />
    <path d="M5.500 7V5a2.500 2.500 0 0 1 5 0v2" />
  </>,
);
/** A luggage label. */
export const TagIcon = icon(
  <>
    <path d="M2.500 2.500h5.300l5.700 5.700-5.300 5.300-5.700-5.700Z" />
    <path d="M5.500 5.500v.1" />
  </>,
);
/** A crystal: what is frozen. */
export const FreezeIcon = icon(
  <path d="M8 2v12M2.800 5l10.400 6M13.200 5 2.800 11M6.300 3.200 8 4.700l1.700-1.500M6.300 12.800 8 11.300l1.700 1.500" />,
);
export const FilterIcon = icon(<path d="M2.5 4h11M4.5 8h7M6.5 12h3" />);
export const DeadLetterIcon = icon(
  <>
    <path d="M2 4.500h12v8H2Z" />
    <path d="m2.300 4.800 5.700 4.500 2-1.600M10.500 5.800l3 3m0-3-3 3" />
  </>,
);
export const DeliveriesIcon = icon(
  <path d="m14 2.200-5.200 11.600-2.300-4.600L2 7.200Zm0 0-7.500 7" />,
);
export const EndpointsIcon = icon(
  <>
    <circle cx="8" cy="8" r="2" />
    <path d="M4.500 11.500a5 5 0 0 1 0-7m7 0a5 5 0 0 1 0 7M2.500 13.500a7.800 7.800 0 0 1 0-11m11 0a7.800 7.800 0 0 1 0 11" />
  </>,
);
export const RefreshIcon = icon(
  <path d="M13.300 8a5.300 5.300 0 1 1-1.600-3.800L13.500 6m0-3.500V6H10" />,
);
/** Parked for good: a full square. */
export const AbandonedIcon = icon(
  <rect x="3.500" y="3.500" width="9" height="9" rx="1" fill="currentColor" />,
);
/** Waits for its time: a clock. */
export const PendingIcon = icon(
  <>
    <circle cx="8" cy="8" r="5.200" />
    <path d="M8 5v3.200l2 1.300" />
  </>,
);
/** Due: an empty ring. */
export const QueuedIcon = icon(<circle cx="8" cy="8" r="4.700" strokeDasharray="2.400 2" />);
/** Under way: a ring half full. */
export const RunningIcon = icon(
  <>
    <circle cx="8" cy="8" r="5.200" />
    <path d="M8 2.800a5.200 5.200 0 0 1 0 10.400Z" fill="currentColor" />
  </>,
);
/** Arrived: a tick in a disc. */
export const DeliveredIcon = icon(
  <>
    <circle cx="8" cy="8" r="5.200" />
    <path d="m5.700 8.200 1.600 1.600 3-3.400" />
  </>,
);
/** Thrown away: a struck ring. */
export const DiscardedIcon = icon(
  <>
    <circle cx="8" cy="8" r="5.200" />
    <path d="m4.500 11.500 7-7" />
  </>,
);
