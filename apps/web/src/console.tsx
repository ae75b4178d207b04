import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { Frame } from './frame/frame.js';
import { GenerationsPage } from './generations/generations-page.js';
import { ModelsPage } from './models/models-page.js';
import { OverviewPage } from './overview/overview-page.js';
import { lazy } from './frame/lazy.js';
import { Overlays } from './frame/overlays.js';
import { Empty, Loaded, Page, type PageProps, PlaceLink } from './parts/parts.js';
import { Toasts } from './parts/toasts.js';
import { focusOnTitle, type PageName, place, titleOf } from './places.js';
import { followOverview, overview, overviewFault, reloadOverview } from './session.js';

const OPERATOR = lazy(async () => (await import('./operator/operator-area.js')).OperatorArea, 'Operator');

/** The components of all pages. */
const SHOWN: Readonly<Record<PageName, ComponentType<PageProps>>> = {
  'overview': OverviewPage,
  'playground': lazy(async () => (await import('./later-pages.js')).PlaygroundPage, 'Playground'),
  'generations': GenerationsPage,
  'models': ModelsPage,
  'usage': lazy(async () => (await import('./later-pages.js')).UsagePage, 'Usage'),
  'keys': lazy(async () => (await import('./later-pages.js')).KeysPage, 'API keys'),
  'webhooks': lazy(async () => (await import('./later-pages.js')).WebhooksPage, 'Webhooks'),
  'connections': lazy(async () => (await import('./later-pages.js')).ConnectionsPage, 'Connections'),
  'account': lazy(async () => (await import('./later-pages.js')).AccountPage, 'Account'),
  'operator': OPERATOR,
  'operator-queue': OPERATOR,
  'operator-providers': OPERATOR,
  'operator-accounts': OPERATOR,
  'operator-catalog': OPERATOR,
  'operator-ledger': OPERATOR,
};

/** The whole console: its frame and one page. */
export function Console() {
  const at = place.value;
  const title = titleOf(at);
  // Generations open over their list.
  const shown = at.page === 'generations' ? at.page : `${at.page ?? ''} ${at.id ?? ''}`;
  useEffect(followOverview, []);
  useEffect(() => {
    document.title = `${title} · Darkroom`;
  }, [title]);
  useEffect(focusOnTitle, [shown]);
  const Shown = at.page === undefined ? NotFound : SHOWN[at.page];
  const data = { value: overview.value, fault: overviewFault.value, reload: reloadOverview };
  return (
    <>
      <Frame>
        {data.value === undefined ? (
          <Page title={title}>
            <Loaded data={data} what="your account">
              {() => null}
            </Loaded>
          </Page>
        ) : (
          <Shown key={shown} overview={data.value} />
        )}
      </Frame>
      <Overlays />
      <Toasts />
    </>
  );
}

function NotFound() {
  return (
    <Page title="Page not found">
      <Empty
        icon="search-x"
        title="There is no page at this address"
        text="It may have moved, or the address is incomplete."
      >
        <PlaceLink page="overview" class="button primary">
          Go to the overview
        </PlaceLink>
        <PlaceLink page="generations" class="button">
          Search generations
        </PlaceLink>
      </Empty>
    </Page>
  );
}
