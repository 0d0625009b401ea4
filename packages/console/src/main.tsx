import './ui/mantine.css';
import './ui/fonts.css';
import './ui/global.css';
import './ui/shared.css';
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { type AnyRouter, RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { isPortal } from './api/client.ts';
import { createConsoleRouter, portalParts } from './frame/routes.tsx';
import { colorSchemeKey } from './frame/tools.tsx';
import { createQueryClient, FreshnessProvider } from './ui/freshness.tsx';
import { cssVariables, theme } from './ui/theme.ts';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');

const freshness = createQueryClient();

function show(place: HTMLElement, router: AnyRouter): void {
  createRoot(place).render(
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      colorSchemeManager={localStorageColorSchemeManager({ key: colorSchemeKey })}
    >
      <FreshnessProvider {...freshness}>
        <RouterProvider router={router} />
      </FreshnessProvider>
    </MantineProvider>,
  );
}

const { client } = freshness;
if (!isPortal) show(root, createConsoleRouter(client));
else {
  void import('./frame/portal.tsx').then(({ createPortalRouter }) =>
    show(root, createPortalRouter(client, portalParts)),
  );
}
