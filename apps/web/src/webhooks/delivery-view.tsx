import { useEffect, useState } from 'preact/hooks';
import type { Delivery, DeliveryAttempt } from '../api-types.js';
import { clockText, numberText, preciseTimeText, spanText } from '../format.js';
import { ActionButton, Button, Copyable, CopyableId, shortId } from '../parts/buttons.js';
import { Badge, Facts, Fault, PlaceLink, SkeletonLines } from '../parts/parts.js';
import { Tabs } from '../parts/tabs.js';
import { say } from '../parts/toasts.js';
import type { AccountDelivery, AccountGeneration, DeliveryDetail } from '../server-types.js';
import { change } from '../server.js';
import { useData, useNow } from '../use-data.js';
import { faultText, HttpStatus, isWaiting, stateNote, STATES } from './webhook-parts.js';

const POLL_MS = 15_000;

interface DeliveryViewProps {
  id: string;
  /** What the log knows of it, until the rest is here. */
  known: AccountDelivery | undefined;
  generation: AccountGeneration | undefined;
  changed: () => Promise<void>;
  /** Absent where it is beside the log. */
  close: (() => void) | undefined;
}

/** One delivery: its tries, the request and the responses. */
export function DeliveryView({ id, known, generation, changed, close }: DeliveryViewProps) {
  const path = `/deliveries/${encodeURIComponent(id)}`;
  const { value, fault, reload } = useData<DeliveryDetail>(path, { everyMs: POLL_MS });
  // The log and the delivery are read at different times, the log more often.
  const [listedAt = '', readAt = ''] = [known?.updated_at, value?.delivery.updated_at];
  useEffect(() => {
    if (readAt !== '' && listedAt > readAt) void reload();
  }, [listedAt, readAt, reload]);
  const delivery = readAt < listedAt ? known : value?.delivery;
  const state = delivery?.state;
  const [before, setBefore] = useState(state);
  useEffect(() => {
    if (before !== undefined && state !== undefined && state !== before) say(`${STATES[state][0]}.`);
    setBefore(state);
  }, [state, before]);
  return (
    <>
      {close === undefined ? null : (
        <div class="drawer-head">
          <h2>Delivery</h2>
          <Button kind="quiet" icon="x" label="Close" onClick={close} />
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
            <Head delivery={delivery} changed={async () => void (await Promise.all([changed(), reload()]))} />
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

const SECOND_MS = 1_000;

function Head({ delivery, changed }: { delivery: AccountDelivery; changed: () => Promise<void> }) {
  const [text, look] = STATES[delivery.state];
  const now = useNow(isWaiting(delivery.state) ? SECOND_MS : undefined);
  const resend = async (): Promise<void> => {
    await change(`/deliveries/${delivery.delivery_id}/resend`);
    say('The delivery is sent again.');
    await changed();
  };
  return (
    <div class="row wrap">
      <Badge look={look}>{text}</Badge>
      <span class="small muted num">{stateNote(delivery, now)}</span>
      <span class="push" />
      {delivery.state === 'cancelled' ? null : (
        <ActionButton action={resend} icon="rotate-cw" busyText="Sending…">
          {isWaiting(delivery.state) ? 'Send now' : 'Resend'}
        </ActionButton>
      )}
    </div>
  );
}

/** The last attempts, the oldest first, and the next one. */
function Tries({ delivery: { attempts, event, next_attempt_at: next } }: { delivery: Delivery }) {
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
          <Clock at={attempt.started_at} />
        </li>
      ))}
      {next === undefined ? null : (
        <li class="next">
          <span>{`Try ${attempts.length + 1}`}</span>
          <Clock at={next} />
        </li>
      )}
    </ol>
  );
}

function Clock({ at }: { at: string }) {
  return (
    <time dateTime={at} title={preciseTimeText(at)}>
      {clockText(at)}
    </time>
  );
}

/** Why there was no response, or the first line of one that was not accepted. */
function TryNote({ attempt }: { attempt: DeliveryAttempt }) {
  const line = attempt.result === 'delivered' ? '' : (faultText(attempt) ?? attempt.body?.trim().split('\n')[0]);
  return line ? <span class="tiny muted cut">{line}</span> : null;
}

const TABS = [
  { name: 'request', title: 'Request' },
  { name: 'response', title: 'Response' },
  { name: 'headers', title: 'Headers' },
] as const;

/** `request` is undefined until it is loaded. */
type ExchangeProps = { delivery: AccountDelivery; request: DeliveryDetail['request'] | undefined };

function Exchange({ delivery, request }: ExchangeProps) {
  const [tab, setTab] = useState<(typeof TABS)[number]['name']>('request');
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
          // Those that every try has.
          <Facts
            facts={[
              ['POST', request.url ?? 'The webhook was deleted.'],
              ['Content-Type', <code key="type">application/json</code>],
              ['User-Agent', <code key="agent">darkroom</code>],
              ['webhook-id', <CopyableId key="id" id={request.message_id} what="the webhook-id" />],
              ['webhook-timestamp', 'The time of the try, in seconds since 1970'],
              ['webhook-signature', 'Made for each try with the secret of the webhook'],
            ]}
          />
        )}
      </div>
    </>
  );
}

/** The bytes of a body that are stored. */
const KEPT_BYTES = 1_024;

/** The beginning of the responses, the last one first. */
function Responses({ attempts }: { attempts: readonly DeliveryAttempt[] }) {
  if (attempts.length === 0) return <p class="small muted">Nothing was sent, so there is no response.</p>;
  return (
    <ul class="stack">
      {attempts.toReversed().map((attempt, index) => (
        <li key={attempt.started_at} class="stack-s">
          <p class="row small">
            {`Try ${attempts.length - index}`}
            <HttpStatus attempt={attempt} />
          </p>
          <Body attempt={attempt} />
        </li>
      ))}
    </ul>
  );
}

function Body({ attempt }: { attempt: DeliveryAttempt }) {
  const { body, body_bytes: bytes } = attempt;
  if (body === undefined)
    return (
      <p class="small muted">
        {faultText(attempt) ??
          (bytes === undefined
            ? 'No body is stored: it was empty, or the address is not on the public internet.'
            : `A body of ${numberText(bytes)} bytes, whose text is not stored.`)}
      </p>
    );
  return (
    <>
      <Copyable text={body} what="the response body" isWrapped />
      {bytes !== undefined && bytes > KEPT_BYTES ? (
        <p class="tiny faint">{`The first 1,024 of ${numberText(bytes)} bytes.`}</p>
      ) : null}
    </>
  );
}

interface AboutProps {
  delivery: AccountDelivery;
  messageId: string | undefined;
  generation: AccountGeneration | undefined;
}

function About({ delivery, messageId, generation }: AboutProps) {
  const { event, generation_id: id, occurred_at: at, url } = delivery;
  return (
    <Facts
      facts={[
        ['Event', <code key="event">{event}</code>],
        ['Happened', preciseTimeText(at)],
        ['webhook-id', messageId && <CopyableId key="id" id={messageId} what="the webhook-id" />],
        ['Address', url],
        [
          'Generation',
          event === 'generation.test' ? (
            'None: this is a test event.'
          ) : (
            <PlaceLink key="generation" page="generations" id={id}>
              {generation?.prompt || shortId(id)}
            </PlaceLink>
          ),
        ],
        ['Delivery', <CopyableId key="delivery" id={delivery.delivery_id} what="the id of the delivery" />],
      ]}
    />
  );
}
