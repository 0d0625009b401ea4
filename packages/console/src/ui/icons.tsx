import type { LucideIcon, LucideProps } from 'lucide-react';
import Archive from 'lucide-react/icons/archive';
import Calendar from 'lucide-react/icons/calendar';
import Check from 'lucide-react/icons/check';
import ChevronDown from 'lucide-react/icons/chevron-down';
import ChevronUp from 'lucide-react/icons/chevron-up';
import Circle from 'lucide-react/icons/circle';
import CircleCheck from 'lucide-react/icons/circle-check';
import CircleDashed from 'lucide-react/icons/circle-dashed';
import CircleSlash from 'lucide-react/icons/circle-slash';
import Clock from 'lucide-react/icons/clock';
import Contrast from 'lucide-react/icons/contrast';
import Copy from 'lucide-react/icons/copy';
import Database from 'lucide-react/icons/database';
import Download from 'lucide-react/icons/download';
import Ellipsis from 'lucide-react/icons/ellipsis';
import Eraser from 'lucide-react/icons/eraser';
import FileOutput from 'lucide-react/icons/file-output';
import KeyRound from 'lucide-react/icons/key-round';
import LayoutDashboard from 'lucide-react/icons/layout-dashboard';
import Link from 'lucide-react/icons/link';
import ListChecks from 'lucide-react/icons/list-checks';
import Lock from 'lucide-react/icons/lock';
import MailX from 'lucide-react/icons/mail-x';
import Menu from 'lucide-react/icons/menu';
import Monitor from 'lucide-react/icons/monitor';
import Moon from 'lucide-react/icons/moon';
import Radio from 'lucide-react/icons/radio';
import RefreshCw from 'lucide-react/icons/refresh-cw';
import RotateCcw from 'lucide-react/icons/rotate-ccw';
import Search from 'lucide-react/icons/search';
import Send from 'lucide-react/icons/send';
import Siren from 'lucide-react/icons/siren';
import SlidersHorizontal from 'lucide-react/icons/sliders-horizontal';
import Snowflake from 'lucide-react/icons/snowflake';
import Square from 'lucide-react/icons/square';
import Sun from 'lucide-react/icons/sun';
import Tag from 'lucide-react/icons/tag';
import TriangleAlert from 'lucide-react/icons/triangle-alert';
import User from 'lucide-react/icons/user';
import X from 'lucide-react/icons/x';
import type { ReactNode } from 'react';

// Each icon is imported from its own file: through the package's index a test would load all 1,700. Each stands beside
// a word or on a labelled button, so it is hidden from assistive technology.

function icon(Shape: LucideIcon, props: LucideProps = {}): () => ReactNode {
  return () => (
    <Shape size={16} style={{ flex: 'none' }} aria-hidden="true" focusable="false" {...props} />
  );
}

export const SearchIcon = icon(Search);
/** Further actions. */
export const MoreIcon = icon(Ellipsis);
export const CalendarIcon = icon(Calendar);
export const MenuIcon = icon(Menu, { size: 20 });
export const CopyIcon = icon(Copy);
export const CheckIcon = icon(Check);
export const CloseIcon = icon(X);
export const WarningIcon = icon(TriangleAlert);
export const SunIcon = icon(Sun);
export const MoonIcon = icon(Moon);
export const SystemIcon = icon(Monitor);
export const ChevronDownIcon = icon(ChevronDown);
export const UpIcon = icon(ChevronUp);
export const DownIcon = ChevronDownIcon;
/** The columns of a list: which, and in which order. */
export const ColumnsIcon = icon(SlidersHorizontal);
export const ResetIcon = icon(RotateCcw);
export const UserIcon = icon(User);
export const DownloadIcon = icon(Download);
export const LinkIcon = icon(Link);
export const OverviewIcon = icon(LayoutDashboard);
export const JobsIcon = icon(ListChecks);
export const RecordsIcon = icon(Database);
export const ExportsIcon = icon(FileOutput);
export const AccessIcon = icon(KeyRound);
export const RetentionIcon = icon(Archive);
/** A legal hold: a lock. */
export const HoldIcon = icon(Lock);
export const TagIcon = icon(Tag);
export const FreezeIcon = icon(Snowflake);
export const DeadLetterIcon = icon(MailX);
export const DeliveriesIcon = icon(Send);
export const EndpointsIcon = icon(Radio);
export const IncidentsIcon = icon(Siren);
export const EraseIcon = icon(Eraser);
export const RefreshIcon = icon(RefreshCw);
/** An abandoned delivery: a full square. */
export const AbandonedIcon = icon(Square, { fill: 'currentColor' });
/** A delivery that waits for its next attempt: a clock. */
export const PendingIcon = icon(Clock);
/** Something that is due: an empty ring. */
export const QueuedIcon = icon(CircleDashed);
/** Something under way: a ring that is half full. */
export const RunningIcon = icon(Contrast);
/** A delivery that has arrived: a tick in a disc. */
export const DeliveredIcon = icon(CircleCheck);
/** All is well: a tick. */
export const OkIcon = CheckIcon;
/** Something that fails: a full disc. */
export const FailingIcon = icon(Circle, { fill: 'currentColor' });
/** A discarded delivery: a struck ring. */
export const DiscardedIcon = icon(CircleSlash);
