import type { Webhook } from '../api-types.js';
import { dateText, timeText } from '../format.js';
import { Card } from '../parts/card.js';
import { Fact } from '../parts/fact.js';
import { Loaded } from '../parts/loaded.js';
import { SectionLink } from '../parts/section-link.js';
import type { Data } from '../use-data.js';
import { disabledText, eventsText } from './webhook-text.js';

interface WebhookListProps {
  readonly webhooks: Data<{ readonly webhooks: readonly Webhook[] }>;
  /** What names the App in the address. */
  readonly app: string | undefined;
}

/** The webhooks of an App. */
export function WebhookList({ webhooks, app }: WebhookListProps) {
  return (
    <Card id="webhooks" title="Webhooks">
      <Loaded data={webhooks} what="webhooks">
        {({ webhooks: shown }) =>
          shown.length === 0 ? (
            <p class="empty">The App has none yet.</p>
          ) : (
            <ul class="rows">
              {shown.map((webhook) => (
                <WebhookRow key={webhook.webhook_id} webhook={webhook} app={app} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Card>
  );
}

function WebhookRow({ webhook, app }: { readonly webhook: Webhook; readonly app: string | undefined }) {
  const { webhook_id: id, url, description, status, failing_since: failing } = webhook;
  const disabled = disabledText(webhook);
  return (
    <li class={status === 'disabled' ? 'over' : undefined}>
      <div class="row-head">
        <h3>
          <SectionLink name="webhooks" id={id} query={{ app }}>
            {url}
          </SectionLink>
          {status === 'disabled' ? <span class="badge">disabled</span> : null}
          {status === 'enabled' && failing !== undefined ? <span class="badge warning">failing</span> : null}
        </h3>
      </div>
      {disabled === undefined ? null : <p class="quiet">{disabled}</p>}
      <dl class="facts">
        {description === undefined ? null : <Fact name="Description" text={description} />}
        <Fact name="Told when" text={eventsText(webhook.events)} />
        <Fact name="Made" text={dateText(webhook.created_at)} />
        {failing === undefined ? null : <Fact name="Failing since" text={timeText(failing)} />}
      </dl>
    </li>
  );
}
