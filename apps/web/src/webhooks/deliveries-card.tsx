import { useId, useRef } from 'preact/hooks';
import { announce } from '../parts/toasts.js';
import { type Delivery, DELIVERY_STATES } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { numberText, textOf, timeText } from '../format.js';
import { ActionButton, MoreButton, Button, SubmitButton } from '../parts/buttons.js';
import { Card, Choice, Fault, Loaded, Row, Rows, PlaceLink } from '../parts/parts.js';
import { changeQuery, place } from '../places.js';
import { change } from '../server.js';
import { useAction, usePages } from '../use-data.js';
import { attemptText, EVENT_TEXTS, STATE_TEXTS } from './webhook-form.js';

interface DeliveriesCardProps {
  readonly appId: string;
  readonly webhookId: string;
}

/** The deliveries to a webhook in the last 30 days, with every attempt and buttons to send them again. */
export function DeliveriesCard({ appId, webhookId }: DeliveriesCardProps) {
  const state = DELIVERY_STATES.find((one) => one === place.value.query['state']);
  return (
    <Card id="deliveries" title="Deliveries" note="What it was told in the last 30 days, newest first.">
      <div class="filters">
        <Choice
          label="State"
          value={state}
          among={DELIVERY_STATES}
          text={(one) => STATE_TEXTS[one]}
          changed={(chosen) => changeQuery({ state: chosen })}
        />
      </div>
      <ListedDeliveriesCard key={state ?? ''} appId={appId} webhookId={webhookId} state={state} />
    </Card>
  );
}

interface ListedProps extends DeliveriesCardProps {
  readonly state: Delivery['state'] | undefined;
}

const PAGE = 25;

/** The deliveries to a webhook, newest first. */
function ListedDeliveriesCard({ appId, webhookId, state }: ListedProps) {
  const path = inApp(appId, `/webhooks/${webhookId}`);
  const query = new URLSearchParams({ limit: String(PAGE), ...(state === undefined ? {} : { state }) }).toString();
  // A page with a filter may be empty although there are more.
  const deliveries = usePages<'deliveries', Delivery>(`${path}/deliveries?${query}`, 'deliveries', true);
  const { items, more, reload } = deliveries;
  const readAgain = async (): Promise<void> => {
    await reload();
    announce('The deliveries are up to date.');
  };
  const empty = state === undefined ? 'It was told nothing yet.' : 'None is in this state.';
  return (
    <>
      <div class="row wrap">
        <Button isSmall onClick={() => void readAgain()}>
          Read again
        </Button>
        <ReplayRange path={path} reload={reload} />
      </div>
      <Loaded data={deliveries} what="deliveries">
        {() => (
          <>
            {items.length === 0 && more !== undefined ? null : (
              <Rows items={items} empty={empty}>
                {(one) => <DeliveryRow key={one.delivery_id} delivery={one} path={path} reload={reload} />}
              </Rows>
            )}
            <MoreButton pages={deliveries} />
          </>
        )}
      </Loaded>
    </>
  );
}

interface DeliveryRowProps {
  readonly delivery: Delivery;
  readonly path: string;
  readonly reload: () => Promise<void>;
}

function DeliveryRow({ delivery, path, reload }: DeliveryRowProps) {
  const { state, event, attempts, generation_id: id, next_attempt_at: next } = delivery;
  const link = (
    <PlaceLink page="generations" id={id}>
      {id}
    </PlaceLink>
  );
  return (
    <Row
      title={`A generation ${EVENT_TEXTS[event]}`}
      badge={STATE_TEXTS[state]}
      isWarning={state === 'exhausted'}
      actions={state === 'cancelled' ? null : <ReplayButton delivery={delivery} path={path} reload={reload} />}
      facts={[
        ['Happened', timeText(delivery.occurred_at)],
        ['Attempts', String(delivery.attempts_made)],
        ['Next attempt', next && timeText(next)],
        ['Address', delivery.url],
        ['Generation', link],
      ]}
    >
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
    </Row>
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
    <ActionButton action={replay} label={fullLabel}>
      Send again
    </ActionButton>
  );
}

/** A range is replayed in batches of a hundred, with at most this many batches per action. */
const MAX_STEPS = 50;

/** Sends again what was not delivered in a time. */
function ReplayRange({ path, reload }: { readonly path: string; readonly reload: () => Promise<void> }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { isBusy, fault, setFault, run } = useAction();
  const id = useId();
  const replay = async (form: HTMLFormElement): Promise<void> => {
    const fields = new FormData(form);
    const [from, to] = [textOf(fields, 'from'), textOf(fields, 'to')];
    if (from === '') return setFault('Say from when on.');
    await run(async () => {
      const replayed = await replayAll(path, {
        created_after: new Date(from).toISOString(),
        ...(to === '' ? {} : { created_before: new Date(to).toISOString() }),
      });
      dialog.current?.close();
      announce(replayed === 1 ? 'One is sent again.' : `${numberText(replayed)} are sent again.`);
      await reload();
    });
  };
  return (
    <>
      <button
        type="button"
        class="button small"
        aria-haspopup="dialog"
        onClick={() => {
          setFault(undefined);
          dialog.current?.showModal();
        }}
      >
        Send a time again
      </button>
      <dialog ref={dialog} aria-labelledby={`${id}-title`}>
        <article>
          <form
            noValidate
            onSubmit={(event) => {
              event.preventDefault();
              void replay(event.currentTarget);
            }}
          >
            <h3 id={`${id}-title`}>Send again what was not delivered</h3>
            <label>
              From
              <input type="datetime-local" name="from" aria-required="true" />
            </label>
            <label>
              To
              <input type="datetime-local" name="to" aria-describedby={`${id}-to`} />
              <small id={`${id}-to`}>Empty: until now.</small>
            </label>
            <Fault text={fault} />
            <footer>
              <button type="button" class="secondary" onClick={() => dialog.current?.close()}>
                Cancel
              </button>
              <SubmitButton isBusy={isBusy}>Send again</SubmitButton>
            </footer>
          </form>
        </article>
      </dialog>
    </>
  );
}

async function replayAll(path: string, range: object): Promise<number> {
  let replayed = 0;
  let cursor: string | undefined;
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    const answer: { readonly replayed: number; readonly next_cursor?: string } = await change(`${path}/replay`, {
      ...range,
      ...(cursor === undefined ? {} : { cursor }),
    });
    replayed += answer.replayed;
    cursor = answer.next_cursor;
    if (cursor === undefined) break;
  }
  return replayed;
}
