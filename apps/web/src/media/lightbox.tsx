import type { IconName } from '../parts/icon.js';
import { useState } from 'preact/hooks';
import type { Output } from '../api-types.js';
import { Button, useCopy } from '../parts/buttons.js';
import { Dialog } from '../parts/overlays.js';
import { readable } from '../server.js';
import type { Thumbnails } from '../server-types.js';
import { Picture } from './picture.js';
import { saveOutput } from './save-output.js';

/** An output as it is shown, alone or among others. */
export interface Shown {
  readonly output: Output;
  readonly thumbnails: Thumbnails | undefined;
  readonly alt: string;
  /** Without its ending, which follows from the type. */
  readonly filename: string;
  /** The address of the console that shows it. */
  readonly href: string;
}

interface OutputMediaProps {
  shown: Shown;
  /** The `shownWidth` of `Picture`. */
  shownWidth: string;
  /** The label of the button, where the description of the image does not say enough. */
  label?: string;
  /** Shows it in full. */
  open: () => void;
  /** Gets new addresses, once: one that has expired cannot be loaded. */
  reload: (() => Promise<void>) | undefined;
}

/** An output to look at: a video with its controls, or an image that opens in full. */
export function OutputMedia({ shown: { output, thumbnails, alt }, shownWidth, label, open, reload }: OutputMediaProps) {
  const [isRetried, setRetried] = useState(false);
  const again = (): void => {
    if (!isRetried) void reload?.();
    setRetried(true);
  };
  if (output.media_type === 'video')
    return (
      // What is generated has no speech to caption.
      // oxlint-disable-next-line jsx-a11y/media-has-caption
      <video
        src={readable(output.url)}
        width={output.width}
        height={output.height}
        controls
        loop
        playsInline
        preload="metadata"
        aria-label={alt}
        onError={again}
      />
    );
  return (
    <button type="button" aria-label={label} onClick={open}>
      <Picture {...{ output, thumbnails, alt, shownWidth }} isFirst onFault={again} />
    </button>
  );
}

interface LightboxProps {
  outputs: readonly Shown[];
  /** The index of the output that is open; closed where undefined. */
  at: number | undefined;
  open: (at: number | undefined) => void;
}

/** Outputs over the whole window, dark in both themes. Arrows go from one to the next, Escape closes. */
export function Lightbox({ outputs, at, open }: LightboxProps) {
  const shown = at === undefined ? undefined : outputs[at];
  const step = (by: number): (() => void) | undefined => {
    const next = (at ?? 0) + by;
    return outputs[next] === undefined ? undefined : () => open(next);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    step(by)?.();
    event.stopPropagation();
  };
  const stepButton = (name: string, icon: IconName, label: string, go: (() => void) | undefined) => (
    <Button class={name} icon={icon} label={label} isDisabled={go === undefined} onClick={() => go?.()} />
  );
  return (
    <Dialog
      isOpen={shown !== undefined}
      close={() => open(undefined)}
      class="lightbox"
      label="Output"
      onKeyDown={onKeyDown}
    >
      {shown === undefined || at === undefined ? null : (
        <>
          <Stage key={shown.output.media_id} shown={shown} close={() => open(undefined)} />
          {outputs.length < 2 ? null : (
            <>
              {stepButton('previous', 'chevron-left', 'Previous', step(-1))}
              {stepButton('next', 'chevron-right', 'Next', step(1))}
              <p class="position" aria-live="polite">{`${at + 1} of ${outputs.length}`}</p>
            </>
          )}
        </>
      )}
    </Dialog>
  );
}

function Stage({ shown, close }: { shown: Shown; close: () => void }) {
  const { output, thumbnails, alt } = shown;
  const [isZoomed, setZoomed] = useState(false);
  const [isCopied, copy] = useCopy(window.location.origin + shown.href, 'the link');
  const isVideo = output.media_type === 'video';
  const url = readable(output.url);
  const zoom = (): void => setZoomed(!isZoomed);
  return (
    <>
      <div class="tools">
        {isVideo ? null : (
          <Button
            icon={isZoomed ? 'zoom-out' : 'zoom-in'}
            label={isZoomed ? 'Fit to the window' : 'Show at 100 %'}
            onClick={zoom}
          />
        )}
        <Button icon="link" label={isCopied ? 'Copied' : 'Copy link'} onClick={() => void copy()} />
        <Button icon="download" label="Download" onClick={() => void saveOutput(output, shown.filename)} />
        <Button icon="x" label="Close" onClick={close} />
      </div>
      <div class={isZoomed ? 'light zoomed' : 'light'}>
        {isVideo ? (
          // What is generated has no speech to caption.
          // oxlint-disable-next-line jsx-a11y/media-has-caption
          <video src={url} controls autoplay loop playsInline aria-label={alt} />
        ) : (
          // The button beside does the same by keyboard.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-noninteractive-element-interactions
          <img
            src={url}
            alt={alt}
            width={output.width}
            height={output.height}
            style={thumbnails === undefined ? {} : { backgroundImage: `url("${thumbnails.medium}")` }}
            onClick={zoom}
          />
        )}
      </div>
    </>
  );
}
