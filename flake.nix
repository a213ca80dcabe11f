{
  description = "Clew: local-first retrieval with citations that hold";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-26.05";

  outputs =
    { nixpkgs, ... }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
    in
    {
      # All that `npm ci`, `npm run check` and `npm test` use.
      devShells = nixpkgs.lib.genAttrs systems (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.mkShell {
            packages = [
              pkgs.nodejs_22
              pkgs.git
              # What node-gyp needs to compile SQLite for better-sqlite3.
              pkgs.python3
              pkgs.gnumake
              pkgs.stdenv.cc
            ];

            # The headers of this very Node, which node-gyp would download, and no ready-made binary, which it would
            # prefer and a Nix system may not be able to load.
            npm_config_nodedir = "${pkgs.nodejs_22}";
            npm_config_build_from_source = "true";
          };
        }
      );
    };
}
