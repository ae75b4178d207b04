import { useCallback, useEffect, useId, useRef, useState } from 'preact/hooks';
import { announce } from '../announce.js';
import { type Delivery, DELIVERY_STATES, type DeliveryList, type DeliveryState } from '../api-types.js';
import { inApp } from '../apps/usable-apps.js';
import { numberText, textOf, timeText } from '../format.js';
import { ActionButton } from '../parts/buttons.js';
import { Card, Fact, Fault, Loaded, SectionLink } from '../parts/parts.js';
import { changeQuery, place } from '../router.js';
import { change, read, sentenceOf } from '../server.js';
import { useAction } from '../use-data.js';
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
      <ListedDeliveriesCard key={state ?? ''} appId={appId} webhookId={webhookId} state={state} />
    </Card>
  );
}

interface ListedProps extends DeliveriesCardProps {
  readonly state: Delivery['state'] | undefined;
}

function ListedDeliveriesCard({ appId, webhookId, state }: ListedProps) {
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

/** A range is replayed in batches of a hundred, with at most this many batches per action. */
const MAX_STEPS = 50;

interface ReplayRangeProps {
  readonly path: string;
  readonly reload: () => Promise<void>;
}

/** Sends again what was not delivered in a time. */
function ReplayRange({ path, reload }: ReplayRangeProps) {
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
        class="outline secondary small"
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
              <button type="submit" aria-busy={isBusy} disabled={isBusy}>
                Send again
              </button>
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

const PAGE = 25;
/** The maximum number of empty pages to read in a row: a page with a filter may be empty although there are more. */
const MAX_EMPTY_PAGES = 5;

export interface Deliveries {
  readonly shown: readonly Delivery[] | undefined;
  readonly hasMore: boolean;
  readonly fault: string | undefined;
  readonly isBusy: boolean;
  readonly more: () => Promise<void>;
  readonly reload: () => Promise<void>;
}

interface ListedDeliveries {
  readonly shown: readonly Delivery[];
  readonly cursor: string | undefined;
}

/** The deliveries to a webhook, newest first. The list stays the one that was asked for first. */
function useDeliveries(appId: string, webhookId: string, state: DeliveryState | undefined): Deliveries {
  const [path] = useState(() => inApp(appId, `/webhooks/${encodeURIComponent(webhookId)}/deliveries`));
  const [wanted] = useState(state);
  const [listed, setListed] = useState<ListedDeliveries>();
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const load = useCallback(
    async (before: ListedDeliveries | undefined): Promise<void> => {
      setBusy(true);
      try {
        const page = await readPage(path, wanted, before?.cursor);
        setListed({ shown: [...(before?.shown ?? []), ...page.shown], cursor: page.cursor });
        setFault(undefined);
      } catch (error) {
        setFault(sentenceOf(error));
      } finally {
        setBusy(false);
      }
    },
    [path, wanted],
  );
  useEffect(() => void load(undefined), [load]);
  return {
    shown: listed?.shown,
    hasMore: listed?.cursor !== undefined,
    fault,
    isBusy,
    more: () => load(listed),
    reload: () => load(undefined),
  };
}

async function readPage(
  path: string,
  state: DeliveryState | undefined,
  from: string | undefined,
): Promise<ListedDeliveries> {
  let cursor = from;
  for (let pages = 0; ; pages += 1) {
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (state !== undefined) query.set('state', state);
    if (cursor !== undefined) query.set('cursor', cursor);
    const answer = await read<DeliveryList>(`${path}?${query.toString()}`);
    cursor = answer.next_cursor;
    if (answer.deliveries.length > 0 || cursor === undefined || pages >= MAX_EMPTY_PAGES)
      return { shown: answer.deliveries, cursor };
  }
}
