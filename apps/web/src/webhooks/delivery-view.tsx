import { useEffect, useState } from 'preact/hooks';
import { RotateCw, X } from 'lucide-preact';
import type { Delivery, DeliveryAttempt } from '../api-types.js';
import { clockText, numberText, preciseTimeText, spanText } from '../format.js';
import { ActionButton, Button, Copyable, CopyableId, shortId } from '../parts/buttons.js';
import { Badge, Facts, Fault, PlaceLink, SkeletonLines } from '../parts/parts.js';
import { Tabs } from '../parts/tabs.js';
import { say } from '../parts/toasts.js';
import type { AccountDelivery, AccountGeneration, DeliveryDetail } from '../server-types.js';
import { change } from '../server.js';
import { useData } from '../use-data.js';
import { faultText, HttpStatus, isWaiting, STATE_LOOKS, STATE_TEXTS, stateNote } from './webhook-parts.js';

const POLL_MS = 15_000;

interface DeliveryViewProps {
  readonly id: string;
  /** What the log knows of it, until the rest is here. */
  readonly known: AccountDelivery | undefined;
  readonly generation: AccountGeneration | undefined;
  readonly changed: () => Promise<void>;
  /** Absent where it is beside the log. */
  readonly close: (() => void) | undefined;
}

/** One delivery: its tries, the request and the responses. */
export function DeliveryView({ id, known, generation, changed, close }: DeliveryViewProps) {
  const { value, fault, reload } = useData<DeliveryDetail>(`/deliveries/${encodeURIComponent(id)}`, {
    everyMs: POLL_MS,
  });
  // The log reads more often.
  const [listedAt, readAt] = [known?.updated_at, value?.delivery.updated_at];
  useEffect(() => {
    if (listedAt !== undefined && readAt !== undefined && listedAt > readAt) void reload();
  }, [listedAt, readAt, reload]);
  const delivery = newer(known, value?.delivery);
  const state = delivery?.state;
  const [before, setBefore] = useState(state);
  useEffect(() => {
    if (before !== undefined && state !== undefined && state !== before) say(`${STATE_TEXTS[state]}.`);
    setBefore(state);
  }, [state, before]);
  return (
    <>
      {close === undefined ? null : (
        <div class="drawer-head">
          <h2>Delivery</h2>
          <Button kind="quiet" icon={X} label="Close" onClick={close} />
        </div>
      )}
      {delivery === undefined ? (
        <div class="delivery-part">
          <Fault text={fault} />
          {fault === undefined ? (
            <SkeletonLines count={4} />
          ) : (
            <p class="small muted">Deliveries are kept for 30 days after their last change.</p>
          )}
        </div>
      ) : (
        <>
          <div class="delivery-part stack">
            <Head
              delivery={delivery}
              changed={async () => {
                await Promise.all([changed(), reload()]);
              }}
            />
            <Tries delivery={delivery} />
          </div>
          <div class="delivery-part">
            <Fault text={fault} />
            <Exchange delivery={delivery} request={value?.request} />
            <About delivery={delivery} messageId={value?.request?.message_id} generation={generation} />
          </div>
        </>
      )}
    </>
  );
}

/** The log and the delivery are read at different times. */
function newer(a: AccountDelivery | undefined, b: AccountDelivery | undefined): AccountDelivery | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.updated_at > b.updated_at ? a : b;
}

const SECOND_MS = 1_000;

/** The time, every second while something waits for it. */
function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isTicking) return;
    const timer = setInterval(() => setNow(Date.now()), SECOND_MS);
    return () => clearInterval(timer);
  }, [isTicking]);
  return now;
}

function Head({ delivery, changed }: { readonly delivery: AccountDelivery; readonly changed: () => Promise<void> }) {
  const { delivery_id: id, state } = delivery;
  const now = useNow(isWaiting(delivery));
  const resend = async (): Promise<void> => {
    await change(`/deliveries/${id}/resend`);
    say('The delivery is sent again.');
    await changed();
  };
  return (
    <div class="row wrap">
      <Badge look={STATE_LOOKS[state]}>{STATE_TEXTS[state]}</Badge>
      <span class="small muted num">{stateNote(delivery, now)}</span>
      <span class="push" />
      {state === 'cancelled' ? null : (
        <ActionButton action={resend} icon={RotateCw} busyText="Sending…">
          {isWaiting(delivery) ? 'Send now' : 'Resend'}
        </ActionButton>
      )}
    </div>
  );
}

/** The last attempts, the oldest first, and the next one. */
function Tries({ delivery }: { readonly delivery: Delivery }) {
  const { attempts, event, next_attempt_at: next } = delivery;
  if (attempts.length === 0 && next === undefined) return <p class="small muted">Nothing was sent.</p>;
  return (
    <ol class="timeline tries" aria-label="Tries">
      {attempts.map((attempt, index) => (
        <li key={attempt.started_at} class={attempt.result === 'delivered' ? 'succeeded' : 'failed'}>
          <span class="grow">
            <span class="row">
              {`Try ${index + 1}`}
              <HttpStatus attempt={attempt} />
              <span class="faint num">{spanText(attempt.duration_ms)}</span>
            </span>
            {attempt.event === event ? null : <code class="tiny faint">{attempt.event}</code>}
            <TryNote attempt={attempt} />
          </span>
          <time dateTime={attempt.started_at} title={preciseTimeText(attempt.started_at)}>
            {clockText(attempt.started_at)}
          </time>
        </li>
      ))}
      {next === undefined ? null : (
        <li class="next">
          <span>{`Try ${attempts.length + 1}`}</span>
          <time dateTime={next} title={preciseTimeText(next)}>
            {clockText(next)}
          </time>
        </li>
      )}
    </ol>
  );
}

/** Why there was no response, or the first line of one that was not accepted. */
function TryNote({ attempt }: { readonly attempt: DeliveryAttempt }) {
  const line = attempt.result === 'delivered' ? undefined : (faultText(attempt) ?? attempt.body?.trim().split('\n')[0]);
  return line === undefined || line === '' ? null : <span class="tiny muted cut">{line}</span>;
}

const TABS = [
  { name: 'request', title: 'Request' },
  { name: 'response', title: 'Response' },
  { name: 'headers', title: 'Headers' },
] as const;
type TabName = (typeof TABS)[number]['name'];

interface ExchangeProps {
  readonly delivery: AccountDelivery;
  /** Undefined until it is loaded. */
  readonly request: DeliveryDetail['request'] | undefined;
}

function Exchange({ delivery, request }: ExchangeProps) {
  const [tab, setTab] = useState<TabName>('request');
  return (
    <>
      <Tabs label="What was exchanged" panel="exchange" tabs={TABS} selected={tab} select={setTab} />
      <div id="exchange" role="tabpanel" class="exchange">
        {tab === 'response' ? (
          <Responses attempts={delivery.attempts} />
        ) : request === undefined ? (
          <SkeletonLines count={8} />
        ) : request === null ? (
          <p class="small muted">The generation was deleted: there is nothing more to send.</p>
        ) : tab === 'request' ? (
          <Copyable text={JSON.stringify(request.body, null, 2)} what="the request body" />
        ) : (
          <Headers request={request} />
        )}
      </div>
    </>
  );
}

/** The beginning of the responses, the last one first. */
function Responses({ attempts }: { readonly attempts: readonly DeliveryAttempt[] }) {
  const last = attempts.length;
  if (last === 0) return <p class="small muted">Nothing was sent, so there is no response.</p>;
  return (
    <ul class="stack">
      {attempts.toReversed().map((attempt, index) => (
        <li key={attempt.started_at} class="stack-s">
          <p class="row small">
            {`Try ${last - index}`}
            <HttpStatus attempt={attempt} />
          </p>
          {attempt.body === undefined ? (
            <p class="small muted">{faultText(attempt) ?? noBodyText(attempt)}</p>
          ) : (
            <>
              <Copyable text={attempt.body} what="the response body" isWrapped />
              {(attempt.body_bytes ?? 0) > KEPT_BYTES ? (
                <p class="tiny faint">{`The first 1,024 of ${numberText(attempt.body_bytes ?? 0)} bytes.`}</p>
              ) : null}
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

const KEPT_BYTES = 1_024;

function noBodyText({ body_bytes: bytes }: DeliveryAttempt): string {
  return bytes === undefined
    ? 'No body is stored: it was empty, or the address is not on the public internet.'
    : `A body of ${numberText(bytes)} bytes, whose text is not stored.`;
}

/** The headers that every try has; the signature is made at each. */
function Headers({ request: { url, message_id: id } }: { readonly request: NonNullable<DeliveryDetail['request']> }) {
  return (
    <Facts
      facts={[
        ['POST', url ?? 'The webhook was deleted.'],
        ['Content-Type', <code key="type">application/json</code>],
        ['User-Agent', <code key="agent">darkroom</code>],
        ['webhook-id', <CopyableId key="id" id={id} what="the webhook-id" />],
        ['webhook-timestamp', 'The time of the try, in seconds since 1970'],
        ['webhook-signature', 'Made for each try with the secret of the webhook'],
      ]}
    />
  );
}

interface AboutProps {
  readonly delivery: AccountDelivery;
  readonly messageId: string | undefined;
  readonly generation: AccountGeneration | undefined;
}

function About({ delivery, messageId, generation }: AboutProps) {
  const { event, generation_id: id, occurred_at: at, url } = delivery;
  const prompt = generation?.prompt ?? '';
  return (
    <Facts
      facts={[
        ['Event', <code key="event">{event}</code>],
        ['Happened', preciseTimeText(at)],
        [
          'webhook-id',
          messageId === undefined ? undefined : <CopyableId key="id" id={messageId} what="the webhook-id" />,
        ],
        ['Address', url],
        [
          'Generation',
          event === 'generation.test' ? (
            'None: this is a test event.'
          ) : (
            <PlaceLink key="generation" page="generations" id={id}>
              {prompt === '' ? shortId(id) : prompt}
            </PlaceLink>
          ),
        ],
        ['Delivery', <CopyableId key="delivery" id={delivery.delivery_id} what="the id of the delivery" />],
      ]}
    />
  );
}
