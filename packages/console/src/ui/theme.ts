import {
  type ActionIconProps,
  type ButtonProps,
  type CSSVariablesResolver,
  createTheme,
  type DrawerProps,
  type MantineColorsTuple,
  type ModalProps,
  type TooltipProps,
} from '@mantine/core';

// The only file for colours and spacing. Style sheets use the variables made here: `--svc-*`, and `--mantine-spacing-*`
// (a grid of 8 px).

const accent: MantineColorsTuple = [
  '#eef2fd',
  '#dce4fa',
  '#b9c8f4',
  '#93aaee',
  '#7d98ea',
  '#5478df',
  '#3f66d6',
  '#2f55c7',
  '#2646a6',
  '#1d3680',
];

/** Mantine's light greys, without its blue tinge. */
const gray: MantineColorsTuple = [
  '#fafafa',
  '#f4f4f5',
  '#ececee',
  '#e2e2e5',
  '#d0d0d5',
  '#a8a8b0',
  '#83838c',
  '#5d5d66',
  '#3c3c43',
  '#1b1b1f',
];

/** The greys of the dark scheme: 0 is text, 7 is the page. */
const dark: MantineColorsTuple = [
  '#e6e6e9',
  '#c8c8ce',
  '#a3a3ac',
  '#7d7d87',
  '#3c3c44',
  '#2e2e35',
  '#222228',
  '#17171b',
  '#121215',
  '#0c0c0e',
];

// Both come with the console: see fonts.css.
const sans = '"Inter Variable", "Inter Fallback", system-ui, sans-serif';
const monospace = '"JetBrains Mono Variable", ui-monospace, Menlo, Consolas, monospace';

const fieldHeight = '32px';

const buttonVars = {
  '--button-height': fieldHeight,
  '--button-fz': '13px',
  '--button-padding-x': '12px',
} as const;

const everyPointer = { hover: true, focus: true, touch: true } as const;

/** Mantine's header is a <header>, which would count as a second banner of the page. */
const plainHeader = { attributes: { header: { role: 'none' } } } as const;

/** The theme of Mantine's components. */
export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 7, dark: 6 },
  colors: { accent, gray, dark },
  black: '#1b1b1f',
  fontFamily: sans,
  fontFamilyMonospace: monospace,
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '20px', xl: '28px' },
  lineHeights: { xs: '16px', sm: '20px', md: '20px', lg: '28px', xl: '32px' },
  spacing: { xs: '4px', sm: '8px', md: '16px', lg: '24px', xl: '32px' },
  headings: { fontWeight: '600' },
  radius: { xs: '2px', sm: '4px', md: '6px', lg: '8px', xl: '12px' },
  defaultRadius: 'sm',
  cursorType: 'pointer',
  focusRing: 'auto',
  respectReducedMotion: true,
  // The components themselves are not imported here: each is loaded with the part that uses it.
  components: {
    Button: {
      defaultProps: { size: 'xs', variant: 'default' } satisfies Partial<ButtonProps>,
      vars: (_theme: unknown, props: ButtonProps) => ({
        root: props.size === undefined || props.size === 'xs' ? buttonVars : {},
      }),
    },
    ActionIcon: {
      defaultProps: { variant: 'subtle', color: 'gray', size: 28 } satisfies ActionIconProps,
    },
    Checkbox: { defaultProps: { size: 'xs' } },
    Radio: { defaultProps: { size: 'xs' } },
    SegmentedControl: { defaultProps: { size: 'xs' } },
    NumberInput: {
      defaultProps: { allowDecimal: false, allowNegative: false, hideControls: true },
    },
    Input: {
      defaultProps: { size: 'xs', autoComplete: 'off' },
      vars: () => ({
        wrapper: {
          '--input-height': fieldHeight,
          '--input-size': fieldHeight,
          '--input-fz': '13px',
        },
      }),
    },
    InputWrapper: {
      styles: {
        label: { fontSize: '13px' },
        description: { fontSize: '12px' },
        error: { fontSize: '12px' },
      },
    },
    Tooltip: {
      defaultProps: {
        openDelay: 400,
        transitionProps: { duration: 80 },
        events: everyPointer,
      } satisfies Partial<TooltipProps>,
    },
    Modal: {
      defaultProps: {
        transitionProps: { duration: 80 },
        overlayProps: { backgroundOpacity: 0.35 },
        lockScroll: false,
        closeButtonProps: { 'aria-label': 'Close' },
        ...plainHeader,
      } satisfies Partial<ModalProps>,
      styles: {
        title: { fontSize: '14px', fontWeight: 600 },
        // On a dark page a shadow alone does not show where something ends.
        content: { border: '1px solid var(--svc-line-strong)' },
      },
    },
    Drawer: {
      defaultProps: {
        transitionProps: { duration: 100 },
        ...plainHeader,
      } satisfies Partial<DrawerProps>,
    },
  },
});

/**
 * Variables with our own names, so that style sheets say what a colour is for: `accent` is what can be pressed, is
 * chosen or has the focus, and nothing else; figures and bars are `data`; the tiers and the datasets have their own.
 * theme.test.ts computes the contrasts.
 */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: { '--svc-row': '32px', '--svc-header': '48px', '--svc-mono': monospace },
  light: {
    '--svc-ground': '#ffffff',
    '--svc-panel': '#fafafa',
    '--svc-hover': '#f4f4f5',
    '--svc-selected': '#e8edfb',
    '--svc-line': '#e6e6e9',
    '--svc-line-strong': '#d0d0d5',
    '--svc-ink': '#1b1b1f',
    '--svc-muted': '#5d5d66',
    '--svc-accent': '#2f55c7',
    '--svc-data': '#46566c',
    '--svc-bar': '#7488a3',
    '--svc-ramp-1': '#e3e8ee',
    '--svc-ramp-2': '#c2ccd9',
    '--svc-ramp-3': '#9aaabe',
    '--svc-ramp-4': '#5f7393',
    '--svc-ramp-5': '#3d4f6b',
    '--svc-ramp-text': '#ffffff',
    '--svc-hot': '#46566c',
    '--svc-cold': '#0b7a70',
    '--svc-cold-ground': '#cfe7e4',
    '--svc-training': '#46566c',
    '--svc-fine': '#8a4baf',
    '--svc-track': '#e2e2e5',
    '--svc-skeleton': '#ececee',
    '--svc-failed': '#c98a1b',
    '--svc-warn-ground': '#fdf3dc',
    '--svc-warn-ink': '#6b4300',
    '--svc-warn-line': '#e8cf94',
    '--svc-danger-ground': '#fdecea',
    '--svc-danger-ink': '#a3231a',
    '--svc-alarm-ground': '#c4281c',
    '--svc-alarm-ink': '#ffffff',
    '--svc-ok-ink': '#1c6b3c',
    '--svc-float-shadow': '0 8px 24px rgb(0 0 0 / 14%)',
    '--mantine-color-dimmed': '#5d5d66',
    '--mantine-color-error': '#a3231a',
    '--mantine-color-placeholder': '#6b6b74',
    '--mantine-color-default-border': '#d0d0d5',
  },
  dark: {
    '--svc-ground': '#17171b',
    '--svc-panel': '#121215',
    '--svc-hover': '#202025',
    '--svc-selected': '#232c49',
    '--svc-line': '#2a2a30',
    '--svc-line-strong': '#3c3c44',
    '--svc-ink': '#e6e6e9',
    '--svc-muted': '#a3a3ac',
    '--svc-accent': '#93aaee',
    // What Mantine takes for buttons without a ground is white to the eye.
    '--mantine-color-accent-light-color': '#93aaee',
    '--svc-data': '#9fb0c6',
    '--svc-bar': '#6c7f99',
    '--svc-ramp-1': '#252c36',
    '--svc-ramp-2': '#34404f',
    '--svc-ramp-3': '#48586e',
    '--svc-ramp-4': '#8297b3',
    '--svc-ramp-5': '#c3d1e4',
    '--svc-ramp-text': '#0c0c0e',
    '--svc-hot': '#9fb0c6',
    '--svc-cold': '#56c5b8',
    '--svc-cold-ground': '#173d3a',
    '--svc-training': '#9fb0c6',
    '--svc-fine': '#c79be6',
    '--svc-track': '#33333b',
    '--svc-skeleton': '#26262c',
    '--svc-failed': '#c9922e',
    '--svc-warn-ground': '#33280f',
    '--svc-warn-ink': '#f2cd7c',
    '--svc-warn-line': '#5c4818',
    '--svc-danger-ground': '#3a1a18',
    '--svc-danger-ink': '#f4a09a',
    '--svc-alarm-ground': '#f2766b',
    '--svc-alarm-ink': '#1b0906',
    '--svc-ok-ink': '#7fcf9c',
    '--svc-float-shadow': '0 8px 24px rgb(0 0 0 / 55%)',
    '--mantine-color-text': '#e6e6e9',
    '--mantine-color-dimmed': '#a3a3ac',
    '--mantine-color-error': '#f4a09a',
    '--mantine-color-placeholder': '#8f8f99',
    '--mantine-color-default-border': '#3c3c44',
    '--mantine-color-anchor': '#93aaee',
  },
});
