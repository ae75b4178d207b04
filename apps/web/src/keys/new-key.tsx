import { useEffect, useRef, useState } from 'preact/hooks';
import { Picture, thumbnailsOf } from '../media/picture.js';
import { Button, Copyable, ShownOnce, SubmitButton, useCopy } from '../parts/buttons.js';
import { Form } from '../parts/form.js';
import { Badge, Card, creditsText, Fault, PlaceLink } from '../parts/parts.js';
import type { AccountGeneration, App, Overview } from '../server-types.js';
import { change } from '../server.js';
import { say } from '../parts/toasts.js';
import { type Data, useAction, useData } from '../use-data.js';
import { askedKey, KeyFields } from './key-parts.js';

/** The Apps that a key can be made for, the default one first. */
export interface NamedApps {
  readonly apps: readonly App[];
}

/** A key with the secret that its creator sees once. */
export interface MadeKey {
  readonly id: string;
  readonly name: string;
  readonly secret: string;
}

interface NewKeyFormProps {
  overview: Overview;
  apps: Data<NamedApps>;
  onMade: (key: MadeKey) => void;
  close: () => void;
}

/** Creates a key. What the server refuses is said at its field. */
export function NewKeyForm({ overview, apps, onMade, close }: NewKeyFormProps) {
  const doing = useAction();
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => card.current?.querySelector('input')?.focus(), []);
  const submit = async (form: FormData): Promise<void> => {
    const key = askedKey(form);
    const made = await change<{ readonly key: { readonly id: string }; readonly secret: string }>('/keys', key);
    onMade({ id: made.key.id, name: key.name, secret: made.secret });
  };
  return (
    <Card id="new-key" title="Create key">
      <div ref={card}>
        <Form
          doing={doing}
          submit={submit}
          escape={close}
          footer={
            <div class="row wrap">
              <SubmitButton isBusy={doing.isBusy} busyText="Creating…">
                Create key
              </SubmitButton>
              <Button onClick={close}>Cancel</Button>
              <span class="small muted">Scopes, limit and expiry can’t be changed later.</span>
            </div>
          }
        >
          <KeyFields overview={overview} currency={overview.account.currency} apps={apps.value?.apps ?? []} />
        </Form>
      </div>
    </Card>
  );
}

interface NewSecretProps {
  overview: Overview;
  made: MadeKey;
  /** Called when a generation with it has ended, so that its use has changed. */
  used: () => Promise<void>;
  close: () => void;
}

/** The secret of a new key, until the person has it, and a first request with it. */
export function NewSecret({ overview, made: { id, name, secret }, used, close }: NewSecretProps) {
  const [isCopied, copy] = useCopy(`DARKROOM_API_KEY=${secret}`, 'the line');
  return (
    <>
      <Card id="new-key" title={`“${name}” is ready`}>
        <ShownOnce
          secret={secret}
          onDone={close}
          actions={
            <Button isSmall kind="quiet" onClick={() => void copy()}>
              {isCopied ? 'Copied' : 'Copy as .env line'}
            </Button>
          }
        >
          <strong>Copy the secret now: it is shown only once.</strong> Whoever has it can use the key.
        </ShownOnce>
      </Card>
      {overview.first_request === null ? null : (
        <div class="columns">
          <FirstRequest overview={overview} />
          <FirstResult keyId={id} keyName={name} used={used} />
        </div>
      )}
    </>
  );
}

/** A request that works once the secret of a key is in its variable, and waits for its picture. */
export function FirstRequest({ overview: { first_request: body, base_url: baseUrl } }: { overview: Overview }) {
  if (body === null) return null;
  const request = [
    `curl -sS --fail-with-body ${baseUrl}/api/v1/developer/generations \\`,
    '  -H "Authorization: Bearer $DARKROOM_API_KEY" \\',
    '  -H "Idempotency-Key: first-$(date +%s)" \\',
    '  -H "Prefer: wait=60" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${shellText(JSON.stringify(body, null, 2)).replaceAll('\n', '\n  ')}'`,
  ].join('\n');
  return (
    <Card
      id="first-request"
      title="First request"
      actions={
        <a class="button small" href="/docs">
          API reference
        </a>
      }
    >
      <p class="small muted">
        Put the secret into <code>DARKROOM_API_KEY</code>. The request waits up to 60 seconds for its picture.
      </p>
      <Copyable text={request} what="the request" />
    </Card>
  );
}

/** A text between the single quotes of a shell. */
function shellText(text: string): string {
  return text.replaceAll("'", String.raw`'\''`);
}

const POLL_MS = 2_000;

/** The first generation of a new key, as soon as there is one. */
function FirstResult({ keyId, keyName, used }: { keyId: string; keyName: string; used: () => Promise<void> }) {
  const [hasEnded, setEnded] = useState(false);
  const { value } = useData<{ readonly generations: readonly AccountGeneration[] }>(
    `/generations?limit=1&credential_id=${keyId}`,
    hasEnded ? {} : { everyMs: POLL_MS },
  );
  const task = value?.generations[0];
  const status = task?.status;
  useEffect(() => {
    if (status === undefined || status === 'queued' || status === 'running') return;
    setEnded(true);
    say(capitalized(status));
    void used();
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [status]);
  return (
    <Card id="first-result" title="Result">
      {task === undefined ? (
        <div class="empty">
          <Badge look="active">Listening</Badge>
          <p>{`Waiting for the first request with “${keyName}”. Its picture appears here, with what it cost.`}</p>
        </div>
      ) : (
        <Result generation={task} hasEnded={hasEnded} />
      )}
    </Card>
  );
}

function Result({ generation, hasEnded }: { generation: AccountGeneration; hasEnded: boolean }) {
  const { generation_id: id, status, error, charged_credits: charged } = generation;
  const [output] = generation.outputs;
  return (
    <div class="stack-s first-result">
      {output === undefined ? null : (
        <Picture
          output={output}
          thumbnails={thumbnailsOf(generation, output)}
          alt={generation.prompt ?? 'Output of the first request'}
          shownWidth="(max-width: 1180px) 90vw, 540px"
        />
      )}
      <div class="row wrap small">
        <Badge look={status === 'succeeded' ? 'ok' : hasEnded ? 'fail' : 'active'}>{capitalized(status)}</Badge>
        {hasEnded ? <span>{`${creditsText(charged)} charged`}</span> : null}
        <PlaceLink page="generations" id={id}>
          Open generation
        </PlaceLink>
      </div>
      <Fault text={error?.message} />
    </div>
  );
}

function capitalized(word: string): string {
  return word.replace(/^./, (first) => first.toUpperCase());
}
