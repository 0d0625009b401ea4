import './ui/mantine.css';
import './ui/fonts.css';
import './ui/global.css';
import './ui/shared.css';
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { createConsoleRouter } from './frame/routes.tsx';
import { colorSchemeKey } from './frame/tools.tsx';
import { createQueryClient, FreshnessProvider } from './ui/freshness.tsx';
import { cssVariables, theme } from './ui/theme.ts';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');

const freshness = createQueryClient();

createRoot(root).render(
  <MantineProvider
    theme={theme}
    cssVariablesResolver={cssVariables}
    defaultColorScheme="auto"
    colorSchemeManager={localStorageColorSchemeManager({ key: colorSchemeKey })}
  >
    <FreshnessProvider {...freshness}>
      <RouterProvider router={createConsoleRouter(freshness.client)} />
    </FreshnessProvider>
  </MantineProvider>,
);
