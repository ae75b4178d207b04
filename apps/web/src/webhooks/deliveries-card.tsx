import { announce } from '../announce.js';
import { DELIVERY_STATES, type Delivery } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { timeText } from '../format.js';
import { ActionButton } from '../parts/action-button.js';
import { Card } from '../parts/card.js';
import { Fact } from '../parts/fact.js';
import { Loaded } from '../parts/loaded.js';
import { SectionLink } from '../parts/section-link.js';
import { changeQuery, place } from '../router.js';
import { change } from '../server.js';
import { ReplayRange } from './replay-range.js';
import { useDeliveries, type Deliveries } from './use-deliveries.js';
import { attemptText, EVENT_TEXTS, STATE_TEXTS } from './webhook-text.js';

interface DeliveriesCardProps {
  readonly appId: string;
  readonly webhookId: string;
}

/** What a webhook was told in the last 30 days, with every attempt, and ways to send it again. */
export function DeliveriesCard({ appId, webhookId }: DeliveriesCardProps) {
  const state = DELIVERY_STATES.find((one) => one === place.value.query['state']);
  return (
    <Card id="deliveries" title="Deliveries" note="What it was told in the last 30 days, newest first.">
      <div class="filters">
        <label>
          State
          <select value={state ?? ''} onChange={({ currentTarget }) => changeQuery({ state: currentTarget.value })}>
            <option value="">Any</option>
            {DELIVERY_STATES.map((one) => (
              <option key={one} value={one}>
                {STATE_TEXTS[one]}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Listed key={state ?? ''} appId={appId} webhookId={webhookId} state={state} />
    </Card>
  );
}

interface ListedProps extends DeliveriesCardProps {
  readonly state: Delivery['state'] | undefined;
}

function Listed({ appId, webhookId, state }: ListedProps) {
  const deliveries = useDeliveries(appId, webhookId, state);
  const { shown, fault, reload } = deliveries;
  const path = inApp(appId, `/webhooks/${webhookId}`);
  return (
    <>
      <div class="actions spaced">
        <button type="button" class="outline secondary small" onClick={() => void readAgain(deliveries)}>
          Read again
        </button>
        <ReplayRange path={path} reload={reload} />
      </div>
      <Loaded data={{ value: shown, fault, reload }} what="deliveries">
        {(all) =>
          all.length === 0 && !deliveries.hasMore ? (
            <p class="empty">{state === undefined ? 'It was told nothing yet.' : 'None is in this state.'}</p>
          ) : (
            <>
              <ul class="rows">
                {all.map((delivery) => (
                  <DeliveryRow key={delivery.delivery_id} delivery={delivery} path={path} reload={reload} />
                ))}
              </ul>
              {deliveries.hasMore ? (
                <button
                  type="button"
                  class="outline secondary more"
                  aria-busy={deliveries.isBusy}
                  disabled={deliveries.isBusy}
                  onClick={() => void deliveries.more()}
                >
                  Show more
                </button>
              ) : null}
            </>
          )
        }
      </Loaded>
    </>
  );
}

async function readAgain({ reload }: Deliveries): Promise<void> {
  await reload();
  announce('The deliveries are up to date.');
}

interface DeliveryRowProps {
  readonly delivery: Delivery;
  readonly path: string;
  readonly reload: () => Promise<void>;
}

function DeliveryRow({ delivery, path, reload }: DeliveryRowProps) {
  const { state, event, attempts, generation_id: generation, next_attempt_at: next, url } = delivery;
  return (
    <li>
      <div class="row-head">
        <h3>
          {`A generation ${EVENT_TEXTS[event]}`}
          <span class={state === 'exhausted' ? 'badge warning' : 'badge'}>{STATE_TEXTS[state]}</span>
        </h3>
        {state === 'cancelled' ? null : <ReplayButton delivery={delivery} path={path} reload={reload} />}
      </div>
      <dl class="facts">
        <Fact name="Happened" text={timeText(delivery.occurred_at)} />
        <Fact name="Attempts" text={String(delivery.attempts_made)} />
        {next === undefined ? null : <Fact name="Next attempt" text={timeText(next)} />}
        {url === undefined ? null : <Fact name="Address" text={url} />}
        <div>
          <dt>Generation</dt>
          <dd>
            <SectionLink name="generations" id={generation}>
              {generation}
            </SectionLink>
          </dd>
        </div>
      </dl>
      {attempts.length === 0 ? null : (
        <details class="attempts">
          <summary>{attempts.length === 1 ? 'One attempt' : `The last ${attempts.length} attempts`}</summary>
          <ol>
            {attempts.map((attempt) => (
              <li key={attempt.started_at}>
                {`${timeText(attempt.started_at)}: ${attemptText(attempt)}, after ${attempt.duration_ms} ms`}
              </li>
            ))}
          </ol>
        </details>
      )}
    </li>
  );
}

function ReplayButton({ delivery, path, reload }: DeliveryRowProps) {
  const replay = async (): Promise<void> => {
    await change(`${path}/deliveries/${delivery.delivery_id}/replay`);
    announce('It is sent again.');
    await reload();
  };
  const fullLabel = `Send again: a generation ${EVENT_TEXTS[delivery.event]}, ${timeText(delivery.occurred_at)}`;
  return (
    <ActionButton action={replay} fullLabel={fullLabel}>
      Send again
    </ActionButton>
  );
}
