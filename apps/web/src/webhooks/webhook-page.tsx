import { useState } from 'preact/hooks';
import { Ellipsis, Pencil, RefreshCw, Send } from 'lucide-preact';
import type { Delivery } from '../api-types.js';
import { numberText, preciseTimeText, spanText, timeText } from '../format.js';
import { ActionButton, Button, CopyableId } from '../parts/buttons.js';
import { Icon } from '../parts/icon.js';
import { MenuButton } from '../parts/overlays.js';
import { Attention, Badge, Fault, Figures, Loaded, Page, Time } from '../parts/parts.js';
import { changeQuery, goTo, hrefOf } from '../places.js';
import type { AccountDelivery, AccountWebhook, AllWebhooks, App } from '../server-types.js';
import { focusOn, useData, useShownOnce } from '../use-data.js';
import { DeliveryLog } from './delivery-log.js';
import { RotateDefaultDialog, useWebhookActs } from './webhook-acts.js';
import { type CreatedSecret, SecretCard, sendTest } from './webhook-form.js';
import {
  EventTags,
  HEALTH_LOOKS,
  HEALTH_TEXTS,
  isWaiting,
  PER_REQUEST,
  shortUrl,
  useAppNames,
} from './webhook-parts.js';

const POLL_MS = 10_000;
const ABOVE = { page: 'webhooks', text: 'Webhooks' } as const;

/** One webhook: its health, what can be done with it, and its log of deliveries. */
export function WebhookPage({ id }: { readonly id: string }) {
  const data = useData<{ readonly webhook: AccountWebhook }>(`/webhooks/${encodeURIComponent(id)}`, {
    everyMs: POLL_MS,
  });
  const url = data.value?.webhook.url;
  return (
    <Page title={url === undefined ? 'Webhook' : shortUrl(url)} above={ABOVE} width="full">
      {data.value === undefined ? (
        <div class="hook-head">
          <Loaded data={data} what="the webhook">
            {() => null}
          </Loaded>
        </div>
      ) : (
        <Known webhook={data.value.webhook} fault={data.fault} reload={data.reload} />
      )}
    </Page>
  );
}

interface KnownProps {
  readonly webhook: AccountWebhook;
  readonly fault: string | undefined;
  readonly reload: () => Promise<void>;
}

function Known({ webhook, fault, reload }: KnownProps) {
  const [secret, setSecret, forget] = useShownOnce<CreatedSecret>('deliveries');
  const nameOf = useAppNames();
  const [tests, setTests] = useState(0);
  const rotated = (made: CreatedSecret): void => {
    setSecret(made);
    focusOn('secret');
  };
  const acts = useWebhookActs({ changed: reload, rotated, deleted: () => goTo(hrefOf('webhooks')) });
  const test = async (): Promise<void> => {
    const { delivery_id: delivery } = await sendTest(webhook);
    changeQuery({ delivery, state: undefined, event: undefined, generation: undefined });
    setTests(tests + 1);
  };
  const { webhook_id: id, app, events, description, health, secret_hint: hint } = webhook;
  return (
    <>
      <div class="hook-head stack">
        <div class="row wrap hook-acts">
          <p class="row wrap small hook-facts">
            <Badge look={HEALTH_LOOKS[health.state]}>{HEALTH_TEXTS[health.state]}</Badge>
            <span>{nameOf(app)}</span>
            {hint === undefined ? null : (
              <span>
                Secret <code>{hint}</code>
              </span>
            )}
            <CopyableId id={id} what="the id" />
          </p>
          <ActionButton kind="primary" isSmall={false} icon={Send} action={test} busyText="Sending…">
            Send test event
          </ActionButton>
          <Button icon={Pencil} onClick={acts.ask('edit', webhook)}>
            Edit
          </Button>
          <MenuButton
            label="More actions"
            class="button square"
            button={<Icon of={Ellipsis} />}
            items={acts.changesOf(webhook)}
          />
        </div>
        <div class="row wrap small">
          <EventTags events={events} />
          {description === undefined ? null : <span class="muted">{description}</span>}
        </div>
        <Fault text={fault ?? acts.doing.fault} />
        <Health webhook={webhook} enable={() => void acts.toggle(webhook)} isBusy={acts.doing.isBusy} />
        {secret === undefined ? null : <SecretCard secret={secret} onDone={forget} />}
        <DeliveryFigures query={`webhook_id=${id}`} waiting={health.waiting} />
      </div>
      <DeliveryLog webhookId={id} app={app} createdAt={webhook.created_at} tests={tests} test={test} />
      {acts.dialogs}
    </>
  );
}

interface HealthProps {
  readonly webhook: AccountWebhook;
  readonly enable: () => void;
  readonly isBusy: boolean;
}

/** Why a webhook is not healthy, with a way out. */
function Health({ webhook, enable, isBusy }: HealthProps) {
  const { health, disabled_at: disabledAt, failing_since: failing, previous_secret_expires_at: until } = webhook;
  const { state, reason } = health;
  return (
    <>
      {state === 'paused' ? (
        <Attention
          action={
            <Button isSmall isBusy={isBusy} onClick={enable}>
              Enable
            </Button>
          }
        >
          {`${reason}${disabledAt === undefined ? '' : ` Paused on ${preciseTimeText(disabledAt)}.`} Once it is enabled, resend what it missed.`}
        </Attention>
      ) : null}
      {state === 'failing' ? (
        <Attention>
          {reason} {failing === undefined ? '' : `Nothing has succeeded since ${timeText(failing)}. `}
          After five days without a success the webhook is paused.
        </Attention>
      ) : null}
      {until === undefined ? null : (
        <p class="small muted">{`Messages are signed with the previous secret too until ${preciseTimeText(until)}.`}</p>
      )}
    </>
  );
}

/** The deliveries to URLs that single generations of an App name. */
export function PerRequestPage({ appId }: { readonly appId: string | undefined }) {
  const all = useData<AllWebhooks>('/webhooks', { everyMs: POLL_MS });
  const [secret, setSecret, forget] = useShownOnce<CreatedSecret>('deliveries');
  const nameOf = useAppNames();
  const [isAsking, setAsking] = useState(false);
  const known = all.value?.per_request.find(({ app }) => appId === undefined || app.id === appId);
  const app: App | undefined = known?.app ?? (appId === undefined ? undefined : { id: appId, name: null });
  const rotated = (made: CreatedSecret): void => {
    setSecret(made);
    focusOn('secret');
    void all.reload();
  };
  return (
    <Page title="Per-request webhooks" above={ABOVE} width="full">
      <div class="hook-head stack">
        <Loaded data={all} what="webhooks">
          {() => (
            <div class="row wrap hook-acts">
              <p class="row wrap small hook-facts">
                {app === undefined ? null : <span>{nameOf(app)}</span>}
                {known === undefined ? null : (
                  <span>
                    Secret <code>{known.secret_hint}</code>
                  </span>
                )}
                <span class="muted">
                  Addresses that single requests name in <code>Darkroom-Webhook-Url</code>
                </span>
              </p>
              {app === undefined ? null : (
                <Button icon={RefreshCw} onClick={() => setAsking(true)}>
                  {known === undefined ? 'Create secret…' : 'Rotate secret…'}
                </Button>
              )}
            </div>
          )}
        </Loaded>
        {secret === undefined ? null : <SecretCard secret={secret} onDone={forget} />}
        {app === undefined ? null : (
          <DeliveryFigures query={`webhook_id=${PER_REQUEST}&app_id=${app.id}`} waiting={known?.waiting ?? 0} />
        )}
      </div>
      {app === undefined ? null : (
        <>
          <DeliveryLog webhookId={PER_REQUEST} app={app} />
          <RotateDefaultDialog
            isNew={known === undefined}
            isOpen={isAsking}
            close={() => setAsking(false)}
            app={app}
            rotated={rotated}
          />
        </>
      )}
    </Page>
  );
}

const DAY_MS = 86_400_000;
/** The most deliveries that the figures are taken from. */
const JUDGED = 100;

interface DeliveryFiguresProps {
  readonly query: string;
  readonly waiting: number;
}

/** What came of the deliveries of the last 24 hours, as far as the newest hundred say. */
function DeliveryFigures({ query, waiting }: DeliveryFiguresProps) {
  const [since] = useState(() => new Date(Date.now() - DAY_MS).toISOString());
  const { value } = useData<{ readonly deliveries: readonly AccountDelivery[]; readonly next_cursor?: string }>(
    `/deliveries?${query}&created_after=${since}&limit=${JUDGED}`,
    { everyMs: POLL_MS },
  );
  const all = value?.deliveries ?? [];
  const count = (state: Delivery['state']): number => all.filter((one) => one.state === state).length;
  const delivered = count('delivered');
  const failed = count('exhausted') + count('disabled');
  const times = all.flatMap(({ attempts }) =>
    attempts.filter(({ status }) => status !== undefined).map(({ duration_ms: ms }) => ms),
  );
  const next = all.flatMap(({ next_attempt_at: at }) => at ?? []).toSorted()[0];
  const period = value?.next_cursor === undefined ? 'in the last 24 hours' : 'newest';
  return (
    <Figures
      figures={[
        {
          name: 'Delivered',
          value: delivered + failed === 0 ? '–' : shareText(delivered / (delivered + failed)),
          note: `${numberText(delivered)} of ${numberText(all.length)} ${period}`,
        },
        { name: 'Failed', value: numberText(failed), note: failed === 0 ? 'none gave up' : 'gave up, or not sent' },
        {
          name: 'Waiting',
          value: numberText(Math.max(waiting, all.filter(isWaiting).length)),
          note:
            next === undefined ? (
              'no delivery waits'
            ) : (
              <>
                next try <Time at={next} />
              </>
            ),
        },
        {
          name: 'Median response time',
          value: times.length === 0 ? '–' : spanText(quantile(times, 0.5)),
          note: times.length === 0 ? 'no response yet' : `95th ${spanText(quantile(times, 0.95))}`,
        },
      ]}
    />
  );
}

function shareText(share: number): string {
  return `${share === 1 ? '100' : (share * 100).toFixed(1)} %`;
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}
