import { useEffect, useState } from 'preact/hooks';
import type { Output } from '../api-types.js';
import { ageText, bytesText, dateText, numberText, preciseTimeText, spanText } from '../format.js';
import { deleted } from './generation-list.js';
import { hasShortcuts } from '../frame/preferences.js';
import { Lightbox, OutputMedia, type Shown } from '../media/lightbox.js';
import { Picture, ratioOf, thumbnailsOf } from '../media/picture.js';
import { saveOutput } from '../media/save-output.js';
import { ask } from '../parts/ask.js';
import { ActionButton, Button, Copyable, CopyableId, useCopy } from '../parts/buttons.js';
import { Icon, type IconName } from '../parts/icon.js';
import { MenuButton } from '../parts/overlays.js';
import { Badge, creditsText, Facts, Loaded, Page, PlaceLink, Time } from '../parts/parts.js';
import { Table } from '../parts/table.js';
import { Tabs } from '../parts/tabs.js';
import { announce } from '../parts/toasts.js';
import { goTo, hrefOf } from '../places.js';
import { Timeline } from '../parts/times.js';
import { bodyOf, RequestCode, ROLE_TEXTS } from '../playground/code/request-code.js';
import { countIn } from '../playground/form/parameters.js';
import { cancelGeneration, inApp, readable, remove } from '../server.js';
import type { AccountGeneration, GenerationDetail, ShownRequest } from '../server-types.js';
import { type Data, useData, useLatest } from '../use-data.js';
import { creatorText, isOpen, promptOf, STATUS_LOOKS, STATUS_TEXTS, TIMELINE_TEXTS } from './generation-texts.js';
import { type Progress, useProgress } from './use-progress.js';

interface GenerationViewProps {
  id: string;
  /** What the list knows of it, until the rest is here. */
  known?: AccountGeneration | undefined;
  /** The addresses of its neighbours in the list. */
  newer?: string | undefined;
  older?: string | undefined;
  /** Closes the drawer; absent on a page of its own. */
  close?: (() => void) | undefined;
}

/** One generation, in the drawer and on its page. */
export function GenerationView({ id, known, newer, older, close }: GenerationViewProps) {
  const detail = useData<GenerationDetail>(`/generations/${encodeURIComponent(id)}`);
  const go = (href: string | undefined) => (): void => {
    if (href !== undefined) goTo(href, { keepsScroll: true, replaces: true });
  };
  useKeys({ j: go(older), k: go(newer) });
  const step = (icon: IconName, label: string, href: string | undefined) => (
    <Button kind="quiet" icon={icon} label={label} isDisabled={href === undefined} onClick={go(href)} />
  );
  return (
    <div class="generation">
      {close === undefined ? null : (
        <header class="drawer-head">
          <h2 class="cut">{promptOf(detail.value ?? known)}</h2>
          {step('chevron-left', 'Newer (K)', newer)}
          {step('chevron-right', 'Older (J)', older)}
          <Button kind="quiet" icon="x" label="Close" onClick={close} />
        </header>
      )}
      <Loaded data={detail} what="the generation" skeleton={<div class="skeleton stage-skeleton" />}>
        {(generation) => (
          <div class="generation-parts">
            <Main generation={generation} detail={detail} close={close} />
            <Side generation={generation} />
            <More generation={generation} />
          </div>
        )}
      </Loaded>
    </div>
  );
}

/** One generation on a page of its own. */
export function GenerationPage({ id }: { id: string }) {
  const { value } = useData<GenerationDetail>(`/generations/${encodeURIComponent(id)}`);
  return (
    <Page title={promptOf(value)} above={{ page: 'generations', text: 'Generations' }} width="full">
      <GenerationView id={id} />
    </Page>
  );
}

/** Single keys, outside of fields and dialogs above. */
function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const press = useLatest((key: string) => keys[key]?.());
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const field = (event.target as Element).closest('input, textarea, select, [contenteditable], .lightbox');
      if (field !== null || !hasShortcuts.value || event.ctrlKey || event.metaKey || event.altKey) return;
      press(event.key.toLowerCase());
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [press]);
}

interface MainProps {
  generation: GenerationDetail;
  detail: Data<GenerationDetail>;
  close: (() => void) | undefined;
}

/** The outputs, and what can be done with the generation. */
function Main({ generation, detail, close }: MainProps) {
  const [at, setAt] = useState(0);
  const [open, setOpen] = useState<number>();
  const outputs = shownOutputs(generation);
  const shown = outputs[at];
  const progress = useProgress(detail);
  useKeys({ f: () => setOpen(shown === undefined ? undefined : at) });
  return (
    <div class="generation-main">
      <div class="stage" style={{ aspectRatio: String(shown === undefined ? 16 / 9 : ratioOf(shown.output)) }}>
        {shown === undefined ? (
          <StageState generation={generation} progress={progress} />
        ) : (
          <>
            <OutputMedia
              key={shown.output.media_id}
              shown={shown}
              shownWidth="(max-width: 860px) 100vw, 860px"
              label={`Show in full screen: ${shown.alt}`}
              open={() => setOpen(at)}
              reload={detail.reload}
            />
            <div class="tools">
              <Button isSmall icon="maximize-2" label="Full screen (F)" onClick={() => setOpen(at)} />
              <Button isSmall icon="download" onClick={() => void saveOutput(shown.output, shown.filename)}>
                Download
              </Button>
            </div>
          </>
        )}
      </div>
      {outputs.length < 2 ? null : <Strip outputs={outputs} at={at} select={setAt} />}
      <div class="row wrap stage-facts">
        <span class="small muted num">{shown === undefined ? '' : outputText(shown.output)}</span>
        <span class="row wrap push">
          <Acts generation={generation} reload={detail.reload} close={close} />
        </span>
      </div>
      <Lightbox outputs={outputs} at={open} open={setOpen} />
    </div>
  );
}

function shownOutputs(generation: GenerationDetail): Shown[] {
  const { outputs, generation_id: id } = generation;
  return outputs.map((output, index) => ({
    output,
    thumbnails: thumbnailsOf(generation, output),
    alt: outputs.length === 1 ? promptOf(generation) : `${promptOf(generation)}, ${index + 1} of ${outputs.length}`,
    filename: outputs.length === 1 ? id : `${id}-${index + 1}`,
    href: hrefOf('generations', { id }),
  }));
}

/** The state of a generation without an output. */
function StageState({ generation, progress }: { generation: GenerationDetail; progress: Progress }) {
  const { status, error, outputs_removed_at: removedAt } = generation;
  const { part, position = 0 } = progress;
  if (isOpen(generation))
    return (
      <div class="stage-state" aria-live="polite">
        <Badge look={STATUS_LOOKS[status]}>
          {part === undefined ? STATUS_TEXTS[status] : `${STATUS_TEXTS[status]} ${Math.floor(part * 100)}%`}
        </Badge>
        {status === 'queued' && position > 0 ? <p>{`${position} ahead of it`}</p> : null}
        {part === undefined ? null : (
          <span class="meter active" aria-hidden="true">
            <i style={{ inlineSize: `${part * 100}%` }} />
          </span>
        )}
      </div>
    );
  return (
    <div class="stage-state">
      <Icon of={removedAt === null ? 'circle-alert' : 'clock'} size={24} />
      <p>
        {removedAt === null
          ? (error?.message ?? `${STATUS_TEXTS[status]} without an output.`)
          : `The outputs expired on ${dateText(removedAt)}.`}
      </p>
      {error === undefined || removedAt !== null ? null : <p class="tiny mono">{error.code}</p>}
    </div>
  );
}

/** The outputs of one generation, to choose the one on the stage. */
function Strip({ outputs, at, select }: { outputs: readonly Shown[]; at: number; select: (at: number) => void }) {
  return (
    <fieldset class="strip" aria-label="Outputs">
      {outputs.map(({ output, thumbnails }, index) => (
        <button
          key={output.media_id}
          type="button"
          aria-pressed={index === at}
          aria-label={`Output ${index + 1}`}
          style={{ aspectRatio: String(ratioOf(output)) }}
          onClick={() => select(index)}
        >
          <Picture output={output} thumbnails={thumbnails} alt="" shownWidth={120} />
        </button>
      ))}
    </fieldset>
  );
}

function outputText({ width, height, duration_ms: duration }: Output): string {
  const size = width === undefined || height === undefined ? [] : [`${width} × ${height}`];
  return [...size, ...(duration === undefined ? [] : [spanText(duration)])].join(' · ');
}

interface ActsProps {
  generation: GenerationDetail;
  reload: () => Promise<void>;
  close: (() => void) | undefined;
}

function Acts({ generation, reload, close }: ActsProps) {
  const { generation_id: id, app } = generation;
  const [isCopied, copy] = useCopy(window.location.origin + hrefOf('generations', { id }), 'the link');
  const cancel = async (): Promise<void> => {
    await cancelGeneration(app.id, id);
    await reload();
  };
  const askToDelete = (): void =>
    ask({
      title: 'Delete this generation?',
      text: 'The request and the outputs are removed. What was charged stays charged. This can’t be undone.',
      doIt: 'Delete generation',
      busyText: 'Deleting…',
      act: () => remove(inApp(app.id, `/generations/${id}`)),
      done: () => {
        announce('The generation is deleted.');
        deleted.value = [...deleted.value, id];
        if (close === undefined) goTo(hrefOf('generations'));
        else close();
      },
    });
  return (
    <>
      {isOpen(generation) ? (
        <ActionButton isSmall={false} action={cancel} busyText="Cancelling…">
          Cancel
        </ActionButton>
      ) : null}
      {generation.request === null ? null : (
        <PlaceLink page="playground" query={{ from: id }} class="button primary">
          <Icon of="wand-sparkles" size={14} />
          Open in playground
        </PlaceLink>
      )}
      <Button icon="link" onClick={() => void copy()}>
        {isCopied ? 'Copied' : 'Copy link'}
      </Button>
      {isOpen(generation) ? null : (
        <MenuButton
          label="More actions"
          class="button square"
          button={<Icon of="ellipsis" size={14} />}
          items={[{ text: 'Delete…', isDangerous: true, act: askToDelete }]}
        />
      )}
    </>
  );
}

const LEDGER_TEXTS = { reserved: 'Reserved', charged: 'Charged', released: 'Released' } as const;

function More({ generation }: { generation: GenerationDetail }) {
  const [tab, setTab] = useState<'request' | 'code' | 'ledger' | 'deliveries'>('request');
  const { ledger, deliveries, app, request } = generation;
  const titled = (title: string, of: readonly unknown[]) => (
    <>
      {title}
      <span class="faint num">{` ${of.length}`}</span>
    </>
  );
  const panels = {
    request: () => <RequestAndResponse generation={generation} />,
    code: () => (request === null ? null : <RequestCode request={{ ...generation, ...request }} />),
    ledger: () => (
      <Table
        labelledBy="generation-more"
        items={ledger}
        idOf={({ kind }) => kind}
        columns={[
          ['Entry', ({ kind }) => LEDGER_TEXTS[kind]],
          ['Credits', ({ credits }) => numberText(credits), 'number'],
          ['Time', ({ at }) => preciseTimeText(at), 'number'],
        ]}
        empty={<p class="small muted">No credits were moved.</p>}
      />
    ),
    deliveries: () => <DeliveryLines deliveries={deliveries} appId={app.id} />,
  };
  return (
    <section class="generation-more" aria-label="More">
      <Tabs
        label="More about the generation"
        panel="generation-more"
        selected={tab}
        select={setTab}
        tabs={[
          { name: 'request', title: 'Request and response' },
          ...(request === null ? [] : [{ name: 'code', title: 'Code' } as const]),
          { name: 'ledger', title: titled('Ledger entries', ledger) },
          { name: 'deliveries', title: titled('Webhook deliveries', deliveries) },
        ]}
      />
      <div id="generation-more" role="tabpanel" class="more-panel">
        {panels[tab]()}
      </div>
    </section>
  );
}

function RequestAndResponse({ generation }: { generation: GenerationDetail }) {
  const { request, content_removed_at: removedAt } = generation;
  return (
    <div class="stack">
      {request === null ? (
        <p class="small muted">
          {removedAt === null
            ? 'The operator of this service does not show requests.'
            : 'The request is no longer stored.'}
        </p>
      ) : (
        <Copyable what="the request" text={JSON.stringify(bodyOf({ ...generation, ...request }), null, 2)} />
      )}
      <Copyable what="the response" text={JSON.stringify(taskJson(generation), null, 2)} />
    </div>
  );
}

/** The fields that only the console receives. */
const OWN_FIELDS =
  'app app_id creator prompt negative_prompt thumbnails outputs_removed_at content_removed_at request timeline ledger deliveries files outputs_expire_at'.split(
    ' ',
  );

/** The fields that the API shows. */
function taskJson(generation: GenerationDetail): object {
  return Object.fromEntries(Object.entries(generation).filter(([name]) => !OWN_FIELDS.includes(name)));
}

function DeliveryLines({ deliveries, appId }: Pick<GenerationDetail, 'deliveries'> & { appId: string }) {
  if (deliveries.length === 0) return <p class="small muted">No webhook was notified.</p>;
  return (
    <ul class="panel list">
      {deliveries.map(({ delivery_id: delivery, event, state, webhook_id: webhook }) => (
        <li key={delivery}>
          <span class="mono">{event}</span>
          <Badge look={state === 'delivered' ? 'ok' : state === 'exhausted' ? 'fail' : undefined}>{state}</Badge>
          <span class="push small">
            <PlaceLink page="webhooks" id={webhook} query={{ app: appId, delivery }}>
              Show delivery
            </PlaceLink>
          </span>
        </li>
      ))}
    </ul>
  );
}

function Side({ generation }: { generation: GenerationDetail }) {
  const { request, status, created_at: createdAt, model_key: model, client_trace_id: trace, app } = generation;
  const { generation_id: id, outputs, creator, charged_credits: charged, reserved_credits: reserved } = generation;
  const { ledger, modality } = generation;
  const released = ledger.find(({ kind }) => kind === 'released')?.credits ?? 0;
  const asked = countIn(request?.parameters ?? {}) ?? 1;
  return (
    <aside class="generation-side" aria-label="Details">
      <section class="row wrap">
        <Badge look={STATUS_LOOKS[status]}>{STATUS_TEXTS[status]}</Badge>
        {outputs.length > 0 && outputs.length < asked ? (
          <span class="small">{`${outputs.length} of ${asked} ${modality}s`}</span>
        ) : null}
        <span class="small muted">
          <Time at={createdAt} />
        </span>
        <span class="push num">
          {isOpen(generation)
            ? `${creditsText(reserved)} reserved`
            : `${creditsText(charged)} charged${charged > 0 && released > 0 ? `, ${numberText(released)} released` : ''}`}
        </span>
      </section>
      <PromptText title="Prompt" text={request?.prompt} />
      <PromptText title="Negative prompt" text={request?.negative_prompt} />
      <section>
        <h2>Parameters</h2>
        <Facts
          facts={[
            [
              'Model',
              <PlaceLink key={model} page="models" id={model}>
                {model}
              </PlaceLink>,
            ],
            ...Object.entries(request?.parameters ?? {}).map(
              ([name, value]) =>
                [
                  name,
                  <span key={name} class="mono">
                    {typeof value === 'string' ? value : JSON.stringify(value)}
                    {request?.defaults.includes(name) === true ? <span class="faint tiny"> default</span> : null}
                  </span>,
                ] as const,
            ),
          ]}
        />
        <References request={request} />
      </section>
      <Files generation={generation} />
      <TimelineSection generation={generation} />
      <section>
        <h2>Ids</h2>
        <Facts
          facts={[
            ['Generation', <CopyableId key={id} id={id} what="generation id" />],
            ['Trace id', trace && <CopyableId key={trace} id={trace} what="trace id" />],
            ...outputs.map(
              ({ media_id: media }) => ['Media', <CopyableId key={media} id={media} what="media id" />] as const,
            ),
            ['Created by', creatorText(creator)],
            [
              'App',
              <PlaceLink key={app.id} page="generations" query={{ app: app.id }}>
                {app.name ?? app.id}
              </PlaceLink>,
            ],
          ]}
        />
      </section>
    </aside>
  );
}

function Files({ generation: { files, modality, outputs_expire_at: until } }: { generation: GenerationDetail }) {
  if (until === undefined) return null;
  const name = modality === 'video' ? 'Video' : 'Image';
  return (
    <section>
      <h2>Files</h2>
      <Facts
        facts={[
          ...files.map(
            (one, at) => [files.length === 1 ? name : `${name} ${at + 1}`, bytesText(one.byte_size)] as const,
          ),
          ['Kept until', dateText(until)],
        ]}
      />
    </section>
  );
}

function PromptText({ title, text = '' }: { title: string; text: string | undefined }) {
  const [isCopied, copy] = useCopy(text, title.toLowerCase());
  if (text === '') return null;
  return (
    <section>
      <h2>
        {title}
        <Button kind="quiet" isSmall class="push" label={`Copy ${title.toLowerCase()}`} onClick={() => void copy()}>
          {isCopied ? 'Copied' : 'Copy'}
        </Button>
      </h2>
      <p class="prompt">{text}</p>
    </section>
  );
}

function References({ request }: { request: ShownRequest | null }) {
  if (request === null || request.references.length === 0) return null;
  return (
    <ul class="references">
      {request.references.map(({ upload_id: id, role, url }) => (
        <li key={id}>
          {url === undefined ? (
            <span class="no-picture">Expired</span>
          ) : (
            <img src={readable(url)} alt={ROLE_TEXTS[role]} loading="lazy" />
          )}
          <span class="tiny muted">{ROLE_TEXTS[role]}</span>
        </li>
      ))}
    </ul>
  );
}

function TimelineSection({ generation }: { generation: GenerationDetail }) {
  const { timeline, created_at: createdAt, completed_at: completedAt, status } = generation;
  const steps = timeline.map(({ event, at, attempt: { number } = { number: 1 } }) => {
    const text = event === 'completed' ? STATUS_TEXTS[status] : TIMELINE_TEXTS[event];
    return {
      text: number < 2 ? text : `${text} (attempt ${number})`,
      at,
      look: event === 'completed' ? status : undefined,
    };
  });
  return (
    <section>
      <h2>
        Timeline
        {completedAt === undefined ? null : (
          <span class="small faint num push">{`${ageText(createdAt, completedAt)} in total`}</span>
        )}
      </h2>
      <Timeline steps={steps} />
    </section>
  );
}
