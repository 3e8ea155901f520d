// The maze as wallpaper: the whole screen without controls, maze after maze, until a key is pressed or the pointer is used. A page
// that nobody sees makes no frames (player.ts).

/** Ties the button, and the address' `?wallpaper`. `begin` starts what never ends. */
export function wallpaper(button: HTMLElement, begin: () => void): void {
  const page = document.documentElement;
  const isOn = () => page.classList.contains("wallpaper");
  const enter = () => {
    page.classList.add("wallpaper");
    begin();
    // Refused without a gesture, as from the address; then the window is filled.
    if (navigator.userActivation?.isActive) page.requestFullscreen?.().catch(() => undefined);
  };
  const leave = (event: Event) => {
    if (!isOn()) return;
    page.classList.remove("wallpaper");
    event.preventDefault();
    event.stopPropagation();
    if (document.fullscreenElement) void document.exitFullscreen();
  };
  button.addEventListener("click", event => { event.stopPropagation(); enter(); });
  document.addEventListener("keydown", leave, { capture: true });
  document.addEventListener("pointerdown", leave, { capture: true });
  document.addEventListener("fullscreenchange", event => { if (!document.fullscreenElement) leave(event); });
  if (new URLSearchParams(location.search).has("wallpaper")) enter();
}
