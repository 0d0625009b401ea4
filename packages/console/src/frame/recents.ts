import { useLocalStorage } from '@mantine/hooks';

/** A place that somebody went to by the palette. */
export type Recent = { readonly name: string; readonly note: string; readonly href: string };

/** The key under which this browser stores the places; signing out removes it. */
export const recentsKey = 'svcctl.recent';

const mostKept = 8;

type Kept = { readonly of: string; readonly places: readonly Recent[] };

/** The last places that this person went to, the latest first, and a function that adds one. */
export function useRecents(person: string): [readonly Recent[], (place: Recent) => void] {
  const [kept, keep] = useLocalStorage<Kept | null>({
    key: recentsKey,
    defaultValue: null,
    getInitialValueInEffect: false,
    deserialize: readKept,
    serialize: (value) => JSON.stringify(value),
  });
  // The names of tenants are data: whoever signs in next in this browser must not see them.
  const places = kept?.of === person ? kept.places : [];
  const add = (place: Recent) => keep({ of: person, places: withPlace(places, place) });
  return [places, add];
}

/** The places with another one at their front. */
export function withPlace(places: readonly Recent[], place: Recent): readonly Recent[] {
  return [place, ...places.filter(({ href }) => href !== place.href)].slice(0, mostKept);
}

/** Reads what this browser stored; null for anything that is not such a list. */
export function readKept(text: string | undefined): Kept | null {
  try {
    const kept = JSON.parse(text ?? 'null') as Partial<Kept> | null;
    if (typeof kept?.of !== 'string' || !Array.isArray(kept.places)) return null;
    return { of: kept.of, places: kept.places.filter(isRecent) };
  } catch {
    return null;
  }
}

function isRecent(place: unknown): place is Recent {
  const { name, note, href } = (place ?? {}) as Record<string, unknown>;
  const isText = [name, note, href].every((text) => typeof text === 'string');
  return isText && /^#\/[^/\\]/.test(String(href));
}
