import { expect, test } from 'vitest';
import { cssVariables, theme } from './theme.ts';

const schemes = ['light', 'dark'] as const;

/** Texts, and the backgrounds on which they stand. */
const texts: Readonly<Record<string, readonly string[]>> = {
  ink: ['ground', 'panel', 'hover', 'selected', 'track', 'ramp-1', 'ramp-2', 'ramp-3'],
  'ramp-text': ['ramp-4', 'ramp-5'],
  muted: ['ground', 'panel', 'hover', 'selected'],
  accent: ['ground', 'panel', 'hover', 'selected'],
  data: ['ground', 'panel', 'hover', 'selected'],
  'ok-ink': ['ground', 'panel', 'hover', 'selected'],
  'warn-ink': ['ground', 'panel', 'hover', 'selected', 'warn-ground'],
  'danger-ink': ['ground', 'panel', 'hover', 'selected', 'danger-ground'],
  'alarm-ink': ['alarm-ground'],
};

/** Shapes that say something by their colour. */
const shapes = ['accent', 'data', 'bar', 'hot', 'cold', 'training', 'fine', 'alarm-ground'];

/** The colours of a scheme by their names without prefix. */
function coloursOf(scheme: (typeof schemes)[number]): Map<string, string> {
  // The variables depend on nothing in Mantine's theme.
  const variables = cssVariables(theme as Parameters<typeof cssVariables>[0])[scheme];
  return new Map(Object.entries(variables).map(([name, value]) => [name.slice(6), value]));
}

/** The contrast of two colours by WCAG 2.2, from 1 to 21. */
function contrastOf(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminanceOf(one), luminanceOf(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminanceOf(colour: string): number {
  const digits = /^#([0-9a-f]{6})$/.exec(colour)?.[1];
  if (digits === undefined) throw new Error(`${colour} is no colour of six digits`);
  const channels = [0, 2, 4].map((at) => Number.parseInt(digits.slice(at, at + 2), 16) / 255);
  const linear = channels.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return [0.2126, 0.7152, 0.0722].reduce((sum, share, at) => sum + share * (linear[at] ?? 0), 0);
}

test.each(schemes)('every text has a contrast of 4.5 to what is behind it, %s', (scheme) => {
  const colours = coloursOf(scheme);
  const weak = Object.entries(texts).flatMap(([text, grounds]) =>
    grounds
      .map((ground) => ({
        pair: `${text} on ${ground}`,
        contrast: contrastOf(colours.get(text) ?? '', colours.get(ground) ?? ''),
      }))
      .filter(({ contrast }) => contrast < 4.5),
  );
  expect(weak).toEqual([]);
});

test.each(schemes)('every shape has a contrast of 3 to what is behind it, %s', (scheme) => {
  const colours = coloursOf(scheme);
  const weak = shapes.filter((shape) =>
    ['ground', 'panel', 'selected'].some(
      (ground) => contrastOf(colours.get(shape) ?? '', colours.get(ground) ?? '') < 3,
    ),
  );
  expect(weak).toEqual([]);
});

test.each(schemes)(
  'a full bar of the hot tier is told from a hollow one of the cold, %s',
  (scheme) => {
    const colours = coloursOf(scheme);
    expect(
      contrastOf(colours.get('hot') ?? '', colours.get('cold-ground') ?? ''),
    ).toBeGreaterThanOrEqual(3);
  },
);

test.each(schemes)('every shade of the ramp is stronger than the one before it, %s', (scheme) => {
  const colours = coloursOf(scheme);
  const contrasts = [1, 2, 3, 4, 5].map((shade) =>
    contrastOf(colours.get(`ramp-${shade}`) ?? '', colours.get('ground') ?? ''),
  );
  for (const [index, contrast] of contrasts.entries()) {
    expect(contrast).toBeGreaterThan((contrasts[index - 1] ?? 1) * 1.15);
  }
});
