import { hourText, numberText, percentText, preciseTimeText, spanText, timeText } from '../format.js';
import { ActionButton, Button, CopyableId } from '../parts/buttons.js';
import { Icon } from '../parts/icon.js';
import { MenuButton } from '../parts/overlays.js';
import { ActionFault, Attention, Fault, Figures, Loaded, Page, Time } from '../parts/parts.js';
import { Legend, Plot, type Series } from '../parts/plot.js';
import { goTo, hrefOf } from '../places.js';
import type { AccountWebhook, AllWebhooks, App, WebhookActivity } from '../server-types.js';
import { type Data, useAction, useData } from '../use-data.js';
import { DeliveryLog } from './delivery-log.js';
import { actsOf, createAppSecret, sendTest, useSecretCard } from './webhook-acts.js';
import { EventTags, HealthBadge, PER_REQUEST, shortUrl, useAppNames } from './webhook-parts.js';

const POLL_MS = 10_000;
const ABOVE = { page: 'webhooks', text: 'Webhooks' } as const;

/** One webhook: its health, what can be done with it, and its log of deliveries. */
export function WebhookPage({ id }: { id: string }) {
  const data = useData<{ readonly webhook: AccountWebhook }>(`/webhooks/${encodeURIComponent(id)}`, {
    everyMs: POLL_MS,
  });
  const webhook = data.value?.webhook;
  return (
    <Page title={webhook === undefined ? 'Webhook' : shortUrl(webhook.url)} above={ABOVE} width="full">
      {webhook === undefined ? (
        <div class="hook-head">
          <Loaded data={data} what="the webhook">
            {() => null}
          </Loaded>
        </div>
      ) : (
        <Known webhook={webhook} data={data} />
      )}
    </Page>
  );
}

function Known({ webhook, data: { fault, reload } }: { webhook: AccountWebhook; data: Data<unknown> }) {
  const [card, show] = useSecretCard('deliveries', reload);
  const nameOf = useAppNames();
  const doing = useAction();
  const acts = actsOf(webhook, { doing, changed: reload, show, deleted: () => goTo(hrefOf('webhooks')) });
  const { webhook_id: id, app, events, description, health, secret_hint: hint } = webhook;
  return (
    <>
      <div class="hook-head stack">
        <div class="row wrap hook-acts">
          <p class="row wrap small hook-facts">
            <HealthBadge of={webhook} />
            <span>{nameOf(app)}</span>
            <SecretHint hint={hint} />
            <CopyableId id={id} what="the id" />
          </p>
          <ActionButton kind="primary" isSmall={false} icon="send" action={() => sendTest(webhook)} busyText="Sending…">
            Send test event
          </ActionButton>
          <Button icon="pencil" onClick={acts.edit}>
            Edit
          </Button>
          <MenuButton label="More actions" class="button square" button={<Icon of="ellipsis" />} items={acts.items} />
        </div>
        <div class="row wrap small">
          <EventTags events={events} />
          {description === undefined ? null : <span class="muted">{description}</span>}
        </div>
        <Fault text={fault} />
        <ActionFault doing={doing} />
        <Health of={webhook}>
          <Button isSmall isBusy={doing.isBusy} onClick={acts.toggle}>
            Enable
          </Button>
        </Health>
        {card}
        <DeliveryFigures id={id} waiting={health.waiting} />
      </div>
      <DeliveryLog app={app} webhook={webhook} />
    </>
  );
}

function SecretHint({ hint }: { hint: string | undefined }) {
  if (hint === undefined) return null;
  return (
    <span>
      Secret <code>{hint}</code>
    </span>
  );
}

/** Why a webhook is not healthy, with a way out. */
function Health({ of, children: enable }: { of: AccountWebhook; children: preact.ComponentChildren }) {
  const { health, disabled_at: disabledAt, failing_since: failing, previous_secret_expires_at: until } = of;
  const since = disabledAt === undefined ? '' : ` Disabled on ${preciseTimeText(disabledAt)}.`;
  return (
    <>
      {health.state === 'paused' ? (
        <Attention action={enable}>{`${health.reason}${since} Once it is enabled, resend what it missed.`}</Attention>
      ) : null}
      {health.state === 'failing' ? (
        <Attention>
          {health.reason} {failing === undefined ? '' : `Nothing has succeeded since ${timeText(failing)}. `}
          After five days without a success the webhook is disabled.
        </Attention>
      ) : null}
      {until === undefined ? null : (
        <p class="small muted">{`Messages are signed with the previous secret too until ${preciseTimeText(until)}.`}</p>
      )}
    </>
  );
}

/** The deliveries to URLs that single generations of an App name. */
export function PerRequestPage({ appId }: { appId: string | undefined }) {
  const all = useData<AllWebhooks>('/webhooks', { everyMs: POLL_MS });
  const [card, show] = useSecretCard('deliveries', all.reload);
  const nameOf = useAppNames();
  const known = all.value?.per_request.find(({ app }) => appId === undefined || app.id === appId);
  const app: App | undefined = known?.app ?? (appId === undefined ? undefined : { id: appId, name: null });
  return (
    <Page title="Per-request webhooks" above={ABOVE} width="full">
      <div class="hook-head stack">
        <Loaded data={all} what="webhooks">
          {() => (
            <div class="row wrap hook-acts">
              <p class="row wrap small hook-facts">
                {app === undefined ? null : <span>{nameOf(app)}</span>}
                <SecretHint hint={known?.secret_hint} />
                <span class="muted">
                  Addresses that single requests name in <code>Darkroom-Webhook-Url</code>
                </span>
              </p>
              {app === undefined ? null : (
                <Button
                  icon="refresh-cw"
                  onClick={() => createAppSecret(app.id, nameOf(app), known === undefined, show)}
                >
                  {known === undefined ? 'Create secret…' : 'Rotate secret…'}
                </Button>
              )}
            </div>
          )}
        </Loaded>
        {card}
        {app === undefined ? null : <DeliveryFigures id={PER_REQUEST} appId={app.id} waiting={known?.waiting ?? 0} />}
      </div>
      {app === undefined ? null : <DeliveryLog app={app} />}
    </Page>
  );
}

const SERIES: readonly Series[] = [
  { name: 'Delivered', look: 'series-ok' },
  { name: 'Failed', look: 'series-fail' },
];
const PLOT_PX = 76;

/** Shows how the deliveries of the last 48 hours ended, in sums and by hour. */
function DeliveryFigures({ id, appId, waiting }: { id: string; appId?: string; waiting: number }) {
  const path = `/webhooks/${id}/activity${appId === undefined ? '' : `?app_id=${appId}`}`;
  const { value } = useData<WebhookActivity>(path, { everyMs: POLL_MS });
  if (value === undefined) return <div class="skeleton hook-skeleton" />;
  const { delivered, failed, hours, next_attempt_at: next, answered_ms: answered } = value;
  const ended = delivered + failed;
  const period = value.is_complete ? 'Last 48 hours' : 'Newest 1,000 deliveries';
  return (
    <Figures
      figures={[
        {
          name: 'Delivered',
          value: ended === 0 ? '–' : percentText(delivered / ended),
          note: ended === 0 ? 'no delivery has ended' : `${numberText(delivered)} of ${numberText(ended)}`,
        },
        {
          name: 'Waiting',
          value: numberText(Math.max(waiting, value.waiting)),
          note: next === null ? 'no delivery waits' : ['next try ', <Time key="next" at={next} />],
        },
        {
          name: 'Median response time',
          value: answered === null ? '–' : spanText(answered.median),
          note: answered === null ? 'no response yet' : `95% within ${spanText(answered.p95)}`,
        },
      ]}
      plot={
        <>
          <dt class="row wrap">
            <span class="grow">{period}</span>
            <Legend series={SERIES} />
          </dt>
          <dd>
            <Plot
              label={`Deliveries per hour: ${period}`}
              series={SERIES}
              bars={hours.map(({ starts_at: at, ...counts }) => ({
                name: hourText(at),
                title: timeText(at),
                values: [counts.delivered, counts.failed],
              }))}
              heightPx={PLOT_PX}
            />
          </dd>
        </>
      }
    />
  );
}
