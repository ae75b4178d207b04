import type { Webhook } from '../api-types.js';
import { AppPicker, appQuery, inApp, pickedApp, useApps, type UsableApps } from '../apps/usable-apps.js';
import { Card } from '../parts/card.js';
import { Loaded } from '../parts/loaded.js';
import { SectionLink } from '../parts/section-link.js';
import { place } from '../router.js';
import { useData } from '../use-data.js';
import { DeliveriesCard } from './deliveries-card.js';
import { NewWebhookCard } from './new-webhook-card.js';
import { SingleAddressesCard } from './single-addresses-card.js';
import { WebhookList } from './webhook-list.js';
import { WebhookSettingsCard } from './webhook-settings-card.js';

/** Names the App's own secret, in place of a webhook. */
const DEFAULT = 'default';

/** The webhooks of an App; or one of them, which the address names. */
export function WebhooksSection() {
  const apps = useApps();
  const { id } = place.value;
  return (
    <Loaded data={apps} what="Apps">
      {(usable) => {
        const picked = pickedApp(usable, 'keys');
        const app = appQuery(usable, picked, 'keys');
        return id === undefined ? (
          <OfApp key={picked} apps={usable} appId={picked} app={app} />
        ) : (
          <Single key={`${picked} ${id}`} appId={picked} app={app} id={id} />
        );
      }}
    </Loaded>
  );
}

interface OfAppProps {
  readonly apps: UsableApps;
  readonly appId: string;
  readonly app: string | undefined;
}

function OfApp({ apps, appId, app }: OfAppProps) {
  const webhooks = useData<{ readonly webhooks: readonly Webhook[] }>(inApp(appId, '/webhooks'));
  return (
    <>
      {apps.apps.length < 2 ? null : (
        <section class="card narrow" aria-label="What is shown">
          <AppPicker apps={apps} picked={appId} usual="keys" />
        </section>
      )}
      <NewWebhookCard appId={appId} changed={webhooks.reload} />
      <WebhookList webhooks={webhooks} app={app} />
      <SingleAddressesCard appId={appId} app={app} />
    </>
  );
}

interface SingleProps {
  readonly appId: string;
  readonly app: string | undefined;
  readonly id: string;
}

function Single({ appId, app, id }: SingleProps) {
  return (
    <>
      <p class="back">
        <SectionLink name="webhooks" query={{ app }}>
          All webhooks
        </SectionLink>
      </p>
      {id === DEFAULT ? (
        <>
          <Card id="webhook" title="Addresses of single generations">
            <p class="empty">Each was named with its generation.</p>
          </Card>
          <DeliveriesCard appId={appId} webhookId={id} />
        </>
      ) : (
        <KnownWebhook appId={appId} app={app} id={id} />
      )}
    </>
  );
}

function KnownWebhook({ appId, app, id }: SingleProps) {
  const webhook = useData<Webhook>(inApp(appId, `/webhooks/${encodeURIComponent(id)}`));
  return (
    <Loaded data={webhook} what="the webhook">
      {(known) => (
        <>
          <WebhookSettingsCard appId={appId} app={app} webhook={known} changed={webhook.reload} />
          <DeliveriesCard appId={appId} webhookId={known.webhook_id} />
        </>
      )}
    </Loaded>
  );
}
